// A table to search and to sort, drawn from the texts beside this script: ten rows at a time on a
// screen; on paper, which has no pages to turn, as many as are printed.

(() => {
    const PAGE = 10, PRINTED = MOST;
    const box = document.currentScript.parentElement;
    const { columns, rows } = JSON.parse(box.querySelector("script").textContent);
    const places = rows.map((_, place) => place);
    const state = { text: "", column: -1, way: 1, first: 0, length: PAGE };
    const made = (name, parts = {}) => Object.assign(document.createElement(name), parts);

    const field = made("input", { type: "search", placeholder: "Search", ariaLabel: "Search" });
    const [back, on] = ["Previous", "Next"].map((text) => made("button", { type: "button", textContent: text }));
    const count = made("span", { role: "status" });
    const table = made("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    const bar = made("div", { className: "svc-turn" });
    bar.append(field, back, on, count);
    box.append(bar, table);

    const textOf = (place) => rows[place].map((cell) => [cell].flat()[0]).join(" ").toLowerCase();
    const texts = places.map(textOf);

    function inOrder(one, other) {
        const { column, way } = state;
        if (column < 0) return one - other;
        const [a, b] = [one, other].map((place) => columns[column].ranks?.[place] ?? [rows[place][column]].flat()[0]);
        return way * (a < b ? -1 : a > b ? 1 : 0) || one - other;
    }

    function cellOf(cell, column) {
        const [text, exact = ""] = [cell].flat();
        return made("td", { textContent: text, title: exact, className: columns[column].look });
    }

    function draw() {
        const found = places.filter((place) => texts[place].includes(state.text)).sort(inOrder);
        state.first = Math.max(0, Math.min(state.first, found.length - 1));
        const shown = found.slice(state.first, state.first + state.length);
        body.replaceChildren(
            ...shown.map((place) => {
                const line = made("tr");
                line.append(...rows[place].map(cellOf));
                return line;
            }),
        );
        back.disabled = state.first === 0;
        on.disabled = state.first + state.length >= found.length;
        const last = (state.first + shown.length).toLocaleString("en");
        const all = found.length.toLocaleString("en");
        count.textContent = shown.length ? `${(state.first + 1).toLocaleString("en")} to ${last} of ${all}` : "no row";
        [...head.cells].forEach((cell, n) => {
            cell.ariaSort = n !== state.column ? "none" : state.way > 0 ? "ascending" : "descending";
        });
    }

    function change(changes) {
        Object.assign(state, changes);
        draw();
    }

    columns.forEach(({ name, look, title }, column) => {
        const cell = made("th", { scope: "col", className: look, title });
        const button = made("button", { type: "button", textContent: name });
        button.addEventListener("click", () =>
            change({ column, way: state.column === column ? -state.way : 1, first: 0 }),
        );
        cell.append(button);
        head.append(cell);
    });
    field.addEventListener("input", () => change({ text: field.value.trim().toLowerCase(), first: 0 }));
    back.addEventListener("click", () => change({ first: state.first - PAGE }));
    on.addEventListener("click", () => change({ first: state.first + PAGE }));
    window.addEventListener("beforeprint", () => change({ first: 0, length: PRINTED }));
    window.addEventListener("afterprint", () => change({ length: PAGE }));
    draw();
})();
