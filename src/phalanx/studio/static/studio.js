// What plain forms cannot do: turning pages of a long table by keys and by the wheel, and the figure
// at which a slider stands; and that what was pressed is under way.
"use strict";
document.addEventListener("submit", (event) => event.target.setAttribute("aria-busy", "true"));
addEventListener("pageshow", () => {
  document.querySelectorAll("form[aria-busy]").forEach((form) => form.removeAttribute("aria-busy"));
  // moved or typed before this script ran, or kept by the browser over a reload
  document.querySelectorAll("form[hx-get] input:not([type=hidden]), input[hx-get]").forEach((field) => {
    if (field.value !== field.defaultValue) field.dispatchEvent(new Event("input", { bubbles: true }));
  });
});
function move(slider, rows) {
  const before = slider.value;
  slider.value = Math.min(Math.max(Number(before) + rows, slider.min), slider.max);
  if (slider.value === before) return false;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}
document.addEventListener("keydown", (event) => {
  const slider = event.target;
  if (!slider.dataset || !slider.dataset.window) return;
  const rows = { PageDown: slider.dataset.window, PageUp: -slider.dataset.window }[event.key];
  if (!rows) return;
  event.preventDefault();
  move(slider, Number(rows));
});
document.addEventListener("wheel", (event) => {
  const slider = document.getElementById("from");
  if (!slider || !event.target.closest("#rows table.rows") || !event.deltaY) return;
  if (move(slider, 3 * Math.sign(event.deltaY))) event.preventDefault();
}, { passive: false });
document.addEventListener("input", (event) => {
  const slider = event.target;
  if (!slider.dataset || !slider.dataset.steps) return;
  const figure = slider.dataset.steps.split("|")[slider.value] || "none";
  slider.setAttribute("aria-valuetext", figure);
  slider.nextElementSibling.textContent = figure;
});
