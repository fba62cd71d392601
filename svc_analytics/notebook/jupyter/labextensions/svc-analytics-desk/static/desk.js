// A plugin of JupyterLab: the close desk runs when its notebook opens, and has the whole width. It
// tells the desk when the connection to Python is gone, and runs it again when a person asks.
// It is written by hand in the form of JupyterLab's prebuilt extensions, so nothing builds it.

const NOTEBOOK = "00-close-desk.ipynb"; // in the folder that `svc-analytics lab` opens
const RUN = "notebook:run-all-cells";

function activate(app) {
    const seen = new WeakSet();

    async function run(panel) {
        if (panel?.context?.path !== NOTEBOOK || seen.has(panel)) return;
        seen.add(panel);
        await Promise.all([app.restored, panel.context.ready, panel.sessionContext.ready]);
        await panel.sessionContext.session?.kernel?.info;
        if (app.shell.currentWidget !== panel) {
            seen.delete(panel); // it runs when a person comes back to it
            return;
        }
        app.shell.collapseLeft?.();
        panel.sessionContext.connectionStatusChanged.connect((_, detail) =>
            document.dispatchEvent(new CustomEvent("svc-desk-line", { detail })),
        );
        await app.commands.execute(RUN);
    }

    async function runAgain() {
        const { sessionContext } = app.shell.currentWidget ?? {};
        if (!sessionContext) return;
        const { kernel } = sessionContext.session ?? {};
        if (!kernel || ["dead", "unknown"].includes(kernel.status)) await sessionContext.restartKernel();
        await sessionContext.session?.kernel?.info;
        await app.commands.execute(RUN);
    }

    document.addEventListener("svc-desk-run", runAgain);

    app.shell.currentChanged?.connect((_, { newValue }) => run(newValue));
    app.restored.then(() => run(app.shell.currentWidget));
}

const plugin = { id: "svc-analytics-desk:plugin", autoStart: true, activate };
(window._JUPYTERLAB ??= {})["svc-analytics-desk"] = {
    init: () => {},
    get: async () => () => ({ default: plugin, __esModule: true }),
};
