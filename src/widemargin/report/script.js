"use strict";
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const remembered = () => { try { return localStorage.getItem("widemargin-theme"); } catch { return null; } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const show = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("widemargin-theme", root.dataset.theme); } catch { /* private window */ }
    show();
  });
  show();

  const tip = document.createElement("div");
  tip.id = "tip";
  document.body.append(tip);
  const near = (event) => {
    const direct = event.target.closest("[data-t]");
    if (direct) return direct;
    const svg = event.target.closest("svg");
    if (!svg) return null;
    let best = null, least = 26 * 26;
    for (const dot of svg.querySelectorAll("circle[data-t]")) {
      const box = dot.getBoundingClientRect();
      const dx = box.x + box.width / 2 - event.clientX, dy = box.y + box.height / 2 - event.clientY;
      if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = dot; }
    }
    return best;
  };
  let last = null;
  const point = (event) => {
    const found = event.target.closest ? near(event) : null;
    if (last && last !== found) last.classList.remove("on");
    last = found;
    tip.classList.toggle("on", Boolean(found));
    if (!found) return;
    found.classList.add("on");
    tip.textContent = found.dataset.t;
    const wide = tip.offsetWidth, x = Math.min(event.clientX + 12, innerWidth - wide - 8);
    tip.style.left = Math.max(8, x) + "px";
    tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 10) + "px";
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);

  const value = (cell) => {
    const text = cell.dataset.v ?? cell.textContent.trim();
    const number = parseFloat(text.replaceAll(",", "").replaceAll("−", "-").replace("∞", "1e309"));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  for (const table of document.querySelectorAll("table.sort")) {
    [...table.tHead.rows[0].cells].forEach((head, place) => head.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [value(a.cells[place]), value(b.cells[place])];
        const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    }));
  }
})();
