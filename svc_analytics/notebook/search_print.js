function (settings) {
    if (settings.listensToPrint) return;
    settings.listensToPrint = true;
    const table = this.api();
    let length = table.page.len();
    window.addEventListener("beforeprint", () => {
        length = table.page.len();
        table.page.len(MOST).draw();
    });
    window.addEventListener("afterprint", () => table.page.len(length).draw());
}
