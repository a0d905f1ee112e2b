// Tables of the benchmarks page: a click on a heading sorts by that column, a second one reverses.
document.addEventListener("DOMContentLoaded", () => {
  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = parseFloat(text.match(/-?[\d.]+(e-?\d+)?/i)?.[0]);
    return /^[-\d]/.test(text) && !Number.isNaN(number) ? number : text;
  };
  for (const table of document.querySelectorAll("article table")) {
    if (!location.pathname.includes("/benchmarks/")) return;
    const body = table.tBodies[0];
    [...table.querySelectorAll("thead th")].forEach((heading, column) => {
      heading.style.cursor = "pointer";
      heading.title = "sort";
      let ascending = false;
      heading.addEventListener("click", () => {
        ascending = !ascending;
        const sign = ascending ? 1 : -1;
        [...body.rows]
          .map((row) => [value(row, column), row])
          .sort(([a], [b]) =>
            sign * (typeof a === "number" && typeof b === "number"
              ? a - b
              : String(a).localeCompare(String(b))))
          .forEach(([, row]) => body.append(row));
      });
    });
  }
});
