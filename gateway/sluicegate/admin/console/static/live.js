"use strict";

// Follows a task: loads the part of the page that changes, and announces changes of the state.
// Without this script, the page is loaded again as a whole.

const PAUSE = 3000;
const part = document.getElementById("live");
const announcement = document.getElementById("announcement");
let failures = 0;

function announce(next) {
  const { state, progress } = next.dataset;
  if (state === part.dataset.state && progress === part.dataset.progress) {
    return;
  }
  announcement.textContent = progress === "-" ? `State: ${state}` : `State: ${state}. ${progress}`;
}

function replace(next) {
  announce(next);
  Object.assign(part.dataset, next.dataset);
  // A reader who is in the part keeps the position.
  if (!part.contains(document.activeElement) && part.innerHTML !== next.innerHTML) {
    part.replaceChildren(...next.childNodes);
  }
}

async function update() {
  if (document.hidden) {
    return true;
  }
  const response = await fetch(part.dataset.source, { credentials: "same-origin", redirect: "error" });
  if (!response.ok) {
    throw new Error(response.statusText);
  }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  replace(page.getElementById("live"));
  return part.dataset.ended !== "yes";
}

async function follow() {
  let continues = true;
  try {
    continues = await update();
    failures = 0;
  } catch {
    failures += 1;
    continues = failures < 5;
    announcement.textContent = continues
      ? "The state could not be loaded. It is tried again."
      : "The state could not be loaded. Load the page again.";
  }
  if (continues) {
    setTimeout(follow, PAUSE * (failures + 1));
  }
}

setTimeout(follow, PAUSE);
