(function () {
  "use strict";
  var root = document.documentElement;

  // Light, dark, or the system's choice.
  var toggle = document.getElementById("theme");
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", function () {
      var dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : window.matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    });
  }

  // A click on a heading sorts by its column; a second click reverses the order.
  function key(row, at) {
    var cell = row.cells[at];
    var given = cell.dataset.sort;
    if (given === undefined) return cell.textContent.trim().toLowerCase();
    return given === "" ? NaN : Number(given);
  }
  function compare(one, two) {
    if (typeof one === "string") return one < two ? -1 : one > two ? 1 : 0;
    if (isNaN(one)) return isNaN(two) ? 0 : 1;
    return isNaN(two) ? -1 : one - two;
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, at) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        Array.from(table.tHead.rows[0].cells).forEach(function (other) {
          other.removeAttribute("aria-sort");
        });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var body = table.tBodies[0];
        Array.from(body.rows)
          .map(function (row) { return [key(row, at), row]; })
          .sort(function (a, b) { return compare(a[0], b[0]) * (down ? -1 : 1); })
          .forEach(function (pair) { body.appendChild(pair[1]); });
      });
    });
  });

  // A tip shows at once what the pointer rests on; the browser's slow title is held back meanwhile.
  var tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.appendChild(tip);
  var held = null;
  var model = null;
  // The cells of the probability tables have no titles; their words come from the facts.
  function probability(shape) {
    var panel = shape && shape.tagName === "rect" && shape.closest("[data-attribute]");
    if (!panel) return "";
    model = model || JSON.parse(document.getElementById("countwise-facts").textContent).model;
    var view = model.views[Number(panel.closest("[data-view]").dataset.view)];
    var table = view.tables[Number(panel.dataset.attribute)];
    var at = Array.from(panel.querySelectorAll("rect")).indexOf(shape);
    var few = view.classes.length <= 5;
    var across = few ? view.classes.length : table.levels.length;
    var row = Math.floor(at / across), column = at % across;
    var c = few ? column : row, v = few ? row : column;
    return table.levels[v] + " in " + view.classes[c] + ": " +
      table.probabilities[c][v].toFixed(3) + ", " + table.counts[c][v] + " rows";
  }
  function show(words) {
    tip.textContent = words;
    tip.hidden = false;
  }
  function release() {
    if (held) held.parent.insertBefore(held.title, held.parent.firstChild);
    held = null;
    tip.hidden = true;
  }
  document.addEventListener("pointerover", function (event) {
    release();
    var shape = event.target.closest ? event.target.closest("svg.cw rect, svg.cw circle, svg.cw text") : null;
    var title = shape && shape.querySelector("title");
    var words = title ? "" : probability(shape);
    if (words) show(words);
    if (!title) return;
    held = { parent: shape, title: title };
    shape.removeChild(title);
    show(title.textContent);
  });
  document.addEventListener("pointermove", function (event) {
    if (tip.hidden) return;
    var x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    var y = event.clientY + 18;
    if (y + tip.offsetHeight > window.innerHeight - 8) y = event.clientY - tip.offsetHeight - 12;
    tip.style.left = Math.max(8, x) + "px";
    tip.style.top = y + "px";
  });
  document.addEventListener("pointerleave", release);

  // A printed page shows collapsed details.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (item) { item.open = true; });
  });
})();
