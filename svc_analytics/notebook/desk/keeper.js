// Keeps the desk through a bad day: it says when Python or the connection is gone, and offers one
// press; it brings back the month and what was typed; it sends what stands in a form with the press of its button;
// and it asks Python to look whether others changed the lake.

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

    // A field tells its text on a way of its own, which may be behind the press of a button that
    // needs it: so one message has both.
    function send(event) {
        const pressed = event.target.closest("button.svc-sends");
        if (!pressed || !el.closest(".svc-desk")?.contains(pressed)) return;
        event.stopPropagation(); // else the button would tell its press too
        const fields = [...pressed.closest(".svc-form").querySelectorAll(".widget-text")];
        const typed = fields.map((each) => ["label", "input"].map((name) => each.querySelector(name)));
        model.send({
            does: "send",
            button: pressed.textContent,
            typed: Object.fromEntries(typed.map(([label, input]) => [label.textContent, input.value])),
        });
    }

    // Enter in a field of a form presses the form's first button.
    function enter(event) {
        const form = event.target.closest("input") && event.target.closest(".svc-form");
        if (!form || event.key !== "Enter" || event.isComposing) return;
        if (!el.closest(".svc-desk")?.contains(form)) return;
        event.preventDefault();
        event.stopPropagation(); // else the notebook would take the key
        form.querySelector("button.svc-sends").click();
    }

    // What is sent with a press is not told once more: it could come when the field is empty again.
    function hold(event) {
        if (el.closest(".svc-desk")?.querySelector("button.svc-sends:active")) event.stopPropagation();
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
        [document, "change", hold, true],
        [document, "click", send, true],
        [document, "keydown", enter, true],
    ];
    listened.forEach(([target, ...heard]) => target.addEventListener(...heard));
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
        listened.forEach(([target, ...heard]) => target.removeEventListener(...heard));
    };
}

export default { render };
