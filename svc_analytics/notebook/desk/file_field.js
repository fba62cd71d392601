// A field that takes a file, by a press or dropped upon it, and sends it in parts to Python.

const PART = 1 << 20; // bytes of a message: a larger one may be refused on its way

function render({ model, el }) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    label.className = "svc-file";
    field.type = "file";
    const name = () => (label.firstChild.textContent = model.get("content").text);
    label.append("", field);
    name();
    model.on("change:content", name);
    model.on("msg:custom", () => (field.value = ""));
    field.addEventListener("change", async () => {
        const [file] = field.files;
        if (!file) return;
        const bytes = await file.arrayBuffer();
        for (let at = 0; at < Math.max(bytes.byteLength, 1); at += PART) {
            const facts = { name: file.name, at, size: bytes.byteLength };
            model.send(facts, undefined, [bytes.slice(at, at + PART)]);
        }
    });
    label.addEventListener("dragover", (event) => event.preventDefault());
    label.addEventListener("drop", (event) => {
        event.preventDefault();
        event.stopPropagation();
        field.files = event.dataTransfer.files;
        field.dispatchEvent(new Event("change"));
    });
    el.append(label);
}

export default { render };
