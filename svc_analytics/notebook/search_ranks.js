(() => {
    const ranks = RANKS, exact = EXACT;
    return (text, purpose, row, cell) => {
        if (purpose === "sort" || purpose === "type") return ranks[cell.row];
        const whole = purpose === "display" && exact[cell.row];
        return whole ? `<span title="${whole}">${text}</span>` : text;
    };
})()
