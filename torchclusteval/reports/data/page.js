document.querySelectorAll("table.sorts").forEach(function (table) {
  var heads = table.tHead.rows[0].cells, body = table.tBodies[0];
  Array.prototype.forEach.call(heads, function (head, column) {
    var button = document.createElement("span");
    button.tabIndex = 0;
    button.setAttribute("role", "button");
    while (head.firstChild) button.appendChild(head.firstChild);
    head.appendChild(button);
    button.title = "Sort by this column";
    button.addEventListener("keydown", function (event) {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); button.click() }
    });
    button.addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") === "descending"
        || (!head.hasAttribute("aria-sort") && head.className === "text");
      Array.prototype.forEach.call(heads, function (other) { other.removeAttribute("aria-sort") });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      var rows = Array.prototype.slice.call(body.rows).map(function (row, place) {
        var cell = row.cells[column], key = cell.getAttribute("data-key");
        return { row: row, place: place, key: key === null ? cell.textContent : key === "" ? NaN : parseFloat(key) }
      });
      rows.sort(function (a, b) {
        if (typeof a.key === "string" || typeof b.key === "string") {
          var order = String(a.key).localeCompare(String(b.key), undefined, { numeric: true });
          return (up ? order : -order) || a.place - b.place
        }
        if (isNaN(a.key) || isNaN(b.key)) return (isNaN(a.key) - isNaN(b.key)) || a.place - b.place;
        return (up ? a.key - b.key : b.key - a.key) || a.place - b.place
      });
      rows.forEach(function (entry) { body.appendChild(entry.row) })
    })
  })
});
document.querySelectorAll(".wide").forEach(function (box) {
  function mark() { box.classList.toggle("cut", box.scrollWidth > box.clientWidth + 1) }
  mark();
  window.addEventListener("resize", mark)
});
