// Keeps the desk through a bad day: it says when Python or the connection is gone, and offers one
// press; it brings back the month and what was typed; and it asks Python to look whether others changed the lake.

const GONE = "jupyter-widgets-disconnected"; // on widgets whose Python has ended
const KEPT = "svc-desk"; // where the browser keeps both, for this tab
const PAUSE = 10_000; // milliseconds between two looks at the lake, while the desk is seen

function render({ model, el }) {
    const words = model.get("content");
    el.innerHTML = '<div class="svc-lost" role="alert" hidden><span></span> <button></button></div>';
    const [box, text, button] = [el.firstChild, ...el.firstChild.children];
    button.textContent = words.again;
    const fields = () => [...(el.closest(".svc-desk")?.querySelectorAll(".svc-form input") ?? [])];
    let isRestored = false;

    function say(message) {
        box.hidden = !message;
        text.textContent = message;
    }

    function isGone() {
        return Boolean(el.closest(`.${GONE}`));
    }

    function keep() {
        const typed = fields().map((each) => each.value);
        const { label } = model.get("content");
        if (isRestored) sessionStorage.setItem(KEPT, JSON.stringify({ label, typed }));
    }

    function restore() {
        if (!fields().length) return;
        const { label, typed = [] } = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
        isRestored = true;
        if (label) model.send({ does: "choose", label });
        fields().forEach((field, place) => {
            if (field.value || !typed[place]) return;
            field.value = typed[place];
            ["input", "change"].forEach((name) => field.dispatchEvent(new Event(name, { bubbles: true })));
        });
    }

    function look() {
        if (isGone()) {
            say(words.lost);
            return;
        }
        restoreOnce();
        if (document.visibilityState === "visible") model.send({ does: "look" });
    }

    function restoreOnce() {
        if (isRestored) keep();
        else restore();
    }

    function onLine({ detail }) {
        if (isGone()) return;
        say(detail === "connected" ? "" : words.away);
        if (detail === "connected") look();
    }

    button.addEventListener("click", () => {
        text.textContent = words.running;
        document.dispatchEvent(new CustomEvent("svc-desk-run"));
    });
    const listened = [
        [window, "pagehide", keep],
        [window, "focus", look],
        [document, "visibilitychange", look],
        [document, "svc-desk-line", onLine],
        [document, "input", keep],
    ];
    listened.forEach(([target, name, heard]) => target.addEventListener(name, heard));
    const seen = new MutationObserver(() => isGone() && say(words.lost));
    const soon = setInterval(() => {
        if (!el.closest(".svc-desk")) return;
        seen.observe(el.closest(".svc-desk"), { attributes: true, attributeFilter: ["class"] });
        restoreOnce();
        if (isRestored) clearInterval(soon);
    }, 300);
    const often = setInterval(look, PAUSE);
    return () => {
        seen.disconnect();
        [soon, often].forEach(clearInterval);
        listened.forEach(([target, name, heard]) => target.removeEventListener(name, heard));
    };
}

export default { render };
