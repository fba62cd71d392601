// A plugin of JupyterLab: the close desk runs when its notebook opens, and has the whole width.
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
        await app.commands.execute(RUN);
    }

    app.shell.currentChanged?.connect((_, { newValue }) => run(newValue));
    app.restored.then(() => run(app.shell.currentWidget));
}

const plugin = { id: "svc-analytics-desk:plugin", autoStart: true, activate };
(window._JUPYTERLAB ??= {})["svc-analytics-desk"] = {
    init: () => {},
    get: async () => () => ({ default: plugin, __esModule: true }),
};
