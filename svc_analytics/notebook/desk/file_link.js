// A link to a file that Python hands over. The browser follows it at once; where it refuses,
// because the file took long to make, the link is there to press.

function render({ model, el }) {
    model.on("msg:custom", ({ name, type, isPage, text }, [content] = []) => {
        el.querySelectorAll("a").forEach((link) => URL.revokeObjectURL(link.href));
        el.replaceChildren();
        if (!name) return;
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([content], { type }));
        link.textContent = text;
        Object.assign(link, isPage ? { target: "_blank", rel: "noopener" } : { download: name });
        link.style.marginInlineStart = "6px";
        el.append(link);
        link.click();
    });
}

export default { render };
