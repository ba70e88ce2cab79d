// One program after each of XLA's passes: a slider over them, and where a chosen instruction comes from.
const passLinks = () => [...document.querySelectorAll("a.main")];

const headOf = ProgramView.prototype.head;
ProgramView.prototype.head = function (link, value) {
  headOf.call(this, link, value);
  const links = passLinks();
  const at = links.indexOf(link.closest("tr").querySelector("a.main"));
  const slider = byId("passes");
  slider.max = String(links.length - 1);
  slider.value = String(at);
  slider.setAttribute("aria-valuetext", link.dataset.name);
  byId("pass-now").textContent = `${at + 1} of ${links.length}`;
};

const chosenOf = ProgramView.prototype.chosen;
ProgramView.prototype.chosen = function (change) {
  chosenOf.call(this, change);
  const { remarks } = this.value.listing;
  const line = this.listing.chosen[1] >= 0 ? [1, this.listing.chosen[1]] : [0, this.listing.chosen[0]];
  const number = remarks && line[1] >= 0 ? remarks.of[line[0]][line[1]] : -1;
  if (number >= 0) {
    byId("chosen").append(make("div", { class: "origin" },
      remarks.texts[number].split("\n").map((words) => make("p", { class: "quiet" }, words))));
  }
};

// A program that is opened takes the focus to its name; the slider keeps it while it is moved.
let sliding = false;
byId("passes").addEventListener("input", (event) => {
  const link = passLinks()[Number(event.target.value)];
  sliding = Boolean(link);
  if (link) location.replace(link.getAttribute("href"));
});
byId("program-name").addEventListener("focus", () => {
  if (sliding) byId("passes").focus();
  sliding = false;
});
