// The frame of every page: header, light and dark, messages; and the words by which pages ask.

const PAGES = [
  ["Play", "/play"],
  ["Look inside", "/inside"],
  ["Watch", "/watch"],
  ["Networks", "/networks"],
  ["Counterexample", "/counterexample"],
];

/** An element: el("button", {class: "main", onclick: f}, "Go"). Text is never read as HTML. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same of SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** JSON from the server: GET, or POST with a body. An Error has the server's sentence. */
export async function ask(path, body) {
  const sent = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(path, sent);
  } catch {
    throw new Error("The server does not answer. Is `halfmove web` still running?");
  }
  const found = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw Object.assign(new Error(found.error), { status: answer.status });
  return found;
}

let hide;

/** A message to the person, also read aloud by screen readers; it goes away by itself. */
export function say(text) {
  let box = document.getElementById("said");
  if (!box) {
    box = el("div", { id: "said", role: "alert" });
    document.body.append(box);
  }
  const sentence = String(text);
  box.textContent = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  box.hidden = false;
  clearTimeout(hide);
  hide = setTimeout(() => { box.hidden = true; }, 4000 + 40 * sentence.length);
}

/** Wraps a handler: what it throws is said. */
export function careful(handler) {
  return async (...given) => {
    try {
      return await handler(...given);
    } catch (error) {
      say(error.message);
      return undefined;
    }
  };
}

/** What `work` gives; if that takes long, `box` says why, and for how long it has. */
export async function patient(box, work) {
  const before = box.textContent;
  const began = performance.now();
  const waiting = setInterval(() => {
    box.textContent = `The rules are being compiled, ${Math.round((performance.now() - began) / 1000)} s …`;
  }, 500);
  try {
    return await work;
  } finally {
    clearInterval(waiting);
    box.textContent = before;
  }
}

function theme() {
  const kept = localStorage.getItem("theme");
  if (kept) return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function dress() {
  document.documentElement.dataset.theme = theme();
  const button = document.getElementById("theme");
  if (button) button.textContent = theme() === "dark" ? "Light" : "Dark";
}

function frame() {
  const here = location.pathname;
  const links = PAGES.map(([name, path]) => {
    const current = here === path || here.startsWith(`${path}/`) || (here === "/" && path === "/play");
    return el("a", { href: path, "aria-current": current ? "page" : null }, name);
  });
  const change = el("button", {
    id: "theme",
    type: "button",
    "aria-label": "Change between light and dark",
    onclick: () => {
      localStorage.setItem("theme", theme() === "dark" ? "light" : "dark");
      dress();
    },
  });
  document.body.prepend(
    el("a", { class: "skip", href: "#main" }, "To the content"),
    el("header", { class: "frame" },
      el("a", { class: "brand", href: "/" }, "Halfmove"),
      el("nav", { "aria-label": "Pages" }, links),
      change),
  );
  dress();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", dress);
}

dress();
frame();
