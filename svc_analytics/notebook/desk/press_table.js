// A table to press, by mouse and by keys: its cells or its rows, and the heads that order it.
// It only draws what Python gives it, and tells Python what was pressed.

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const SIGNS = { ascending: "\u25b2", descending: "\u25bc" };
const PRESSED = ".svc-press, .svc-order";

function made(name, text = "", look = "", title = "") {
    const element = document.createElement(name);
    element.textContent = text;
    if (look) element.className = look;
    if (title) element.title = title;
    return element;
}

function headOf(head, column) {
    const cell = made("th", "", head.right ? "svc-right" : "", head.title);
    cell.scope = "col";
    if (!head.order) {
        cell.textContent = head.text;
        return cell;
    }
    cell.ariaSort = head.order;
    const button = made("button", `${head.text} ${SIGNS[head.order] ?? ""}`.trim(), "svc-order");
    Object.assign(button.dataset, { order: column });
    cell.append(button);
    return cell;
}

function cellOf(cell, row, column, head) {
    const isPressed = cell.press;
    const element = made("td", isPressed ? "" : cell.text, head.right ? "svc-right" : "", cell.title);
    if (cell.dir) element.dir = cell.dir;
    if (isPressed) {
        const button = made("button", cell.text, "svc-press", cell.title);
        button.ariaLabel = cell.label;
        Object.assign(button.dataset, { row, column });
        element.append(button);
    }
    return element;
}

function rowOf(row, content) {
    const line = document.createElement("tr");
    if (row.heading) {
        const heading = made("th", "", "svc-heading");
        heading.colSpan = content.head.length;
        heading.append(made("span", row.heading));
        line.append(heading);
        return line;
    }
    if (row.title) line.title = row.title;
    if (row.press) {
        line.className = "svc-press";
        if (row.isOpen === undefined) line.ariaSelected = String(row.isChosen);
        else line.ariaExpanded = String(row.isOpen);
        Object.assign(line.dataset, { row: row.place, column: 0 });
    }
    if (row.look) line.classList.add(row.look);
    line.append(...row.cells.map((cell, n) => cellOf(cell, row.place, n, content.head[n])));
    return line;
}

function tableOf(content) {
    const table = document.createElement("table");
    table.setAttribute("role", content.rows.some((row) => "isOpen" in row) ? "treegrid" : "grid");
    table.ariaLabel = content.label;
    table.dir = content.dir;
    if (content.count) table.ariaRowCount = content.count;
    const head = document.createElement("tr");
    head.append(...content.head.map(headOf));
    table.createTHead().append(head);
    table.createTBody().append(...content.rows.map((row) => rowOf(row, content)));
    if (content.foot.length) {
        const foot = table.createTFoot().insertRow();
        foot.append(...content.foot.map((cell, n) => cellOf(cell, "", n, content.head[n])));
    }
    return table;
}

function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
}

function render({ model, el }) {
    let current = null; // the one that Tab leads to
    el.classList.add("svc-table");
    el.dataset.lmSuppressShortcuts = "true"; // keys are the table's here, not the notebook's

    const lines = () =>
        [...el.querySelectorAll("tbody tr")]
            .map((row) => (row.matches(".svc-press") ? [row] : [...row.querySelectorAll(".svc-press")]))
            .filter((line) => line.length);

    function come(element, isFocused) {
        if (current) current.tabIndex = -1;
        current = element ?? null;
        if (!current) return;
        current.tabIndex = 0;
        if (isFocused) current.focus();
    }

    function draw() {
        const content = model.get("content");
        const held = el.contains(document.activeElement) ? document.activeElement : null;
        const { row, column, order } = (held ?? current)?.dataset ?? {};
        el.replaceChildren(...(content.head ? [tableOf(content)] : []));
        el.querySelectorAll(".svc-press").forEach((each) => (each.tabIndex = -1));
        if (order !== undefined) el.querySelector(`[data-order="${order}"]`)?.focus();
        const same = el.querySelector(`[data-row="${row}"][data-column="${column}"]`);
        const chosen = el.querySelector('.svc-press[aria-selected="true"]');
        come(same ?? chosen ?? lines()[0]?.[0], held && order === undefined);
    }

    function press(element) {
        el.querySelector(".svc-cell")?.classList.remove("svc-cell");
        element.closest("td")?.classList.add("svc-cell");
        const { row, column, order } = element.dataset;
        if (order !== undefined) model.send({ does: "order", column: Number(order) });
        else model.send({ does: "press", row: Number(row), column: Number(column) });
    }

    function move(element, key) {
        const all = lines();
        const line = all.findIndex((each) => each.includes(element));
        const [down, along] = STEPS[key] ?? [0, 0];
        const isMirrored = getComputedStyle(element).direction === "rtl";
        const place = all[line].indexOf(element) + (isMirrored ? -along : along);
        const ends = { Home: all[0], End: all.at(-1) }[key];
        const next = ends ?? all[Math.min(Math.max(line + down, 0), all.length - 1)];
        come(next[Math.min(Math.max(place, 0), next.length - 1)], true);
    }

    // Records beside it leave a table less room: what was pressed stays in sight.
    new ResizeObserver(() => {
        const cell = el.querySelector(".svc-cell")?.getBoundingClientRect();
        if (!cell) return;
        el.scrollLeft += cell.left - el.getBoundingClientRect().left - (el.clientWidth - cell.width) / 2;
    }).observe(el);
    el.addEventListener("click", (event) => {
        const element = event.target.closest(PRESSED);
        if (!element || (element.tagName === "TR" && String(getSelection()))) return;
        if (element.matches(".svc-press")) come(element, true);
        press(element);
    });
    el.addEventListener("keydown", (event) => {
        const element = event.target.closest(PRESSED);
        const turns = { PageUp: -1, PageDown: 1 }[event.key];
        if (event.ctrlKey || event.altKey || event.metaKey || !element) return;
        if (event.key === "Escape") model.send({ does: "leave" });
        else if (turns) model.send({ does: "turn", step: turns });
        else if (element.matches(".svc-order")) return;
        else if (event.key in STEPS || ["Home", "End"].includes(event.key)) move(element, event.key);
        else if (element.tagName === "TR" && ["Enter", " "].includes(event.key)) press(element);
        else return;
        event.preventDefault();
        event.stopPropagation();
    });
    el.addEventListener("focusin", (event) => {
        if (event.target.matches(".svc-press")) come(event.target, false);
    });
    model.on("change:content", draw);
    model.on("msg:custom", ({ does, look, name, text }) => {
        if (does === "save") {
            save(name, text);
            return;
        }
        const shown = look && el.closest(".svc-desk")?.querySelector(look);
        if (shown) shown.scrollIntoView({ block: does === "focus" ? "start" : "nearest" });
        if (does === "focus") current?.focus({ preventScroll: Boolean(shown) });
    });
    draw();
}

export default { render };
