// What a page does more with JavaScript than without: forms in place, keys, live marks. Every form works without any of it.
import { arrive as goLive, leave } from "./live.js";

const main = () => document.getElementById("main");
const say = (text) => { document.getElementById("live").textContent = text; };

// ---- forms in place ----------------------------------------------------------------------------------------------------

let busy = false;

async function send(form, submitter) {
  const data = new FormData(form, submitter);
  const isGet = form.method === "get";
  const target = new URL(submitter?.getAttribute("formaction") ?? form.getAttribute("action") ?? location.href, location.href);
  if (isGet) target.search = new URLSearchParams(data).toString();
  const body = isGet ? undefined : form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
  const answer = await fetch(target, { method: form.method.toUpperCase(), body, headers: { Accept: "text/html" } });
  const kind = answer.headers.get("content-type") ?? "";
  if (!kind.startsWith("text/html") || new URL(answer.url).pathname === "/login") {
    location.assign(answer.redirected || isGet ? answer.url : location.href);
    return;
  }
  const html = await answer.text();
  if (answer.redirected || isGet) history.pushState(null, "", answer.url.replace(/[?&]said=\w+/, ""));
  else standInPlace();
  show(html);
}

// An answer that has no address of its own stands above the page that asked: Back shows that page again.
function standInPlace() {
  if (history.state?.inPlace !== true) history.pushState({ inPlace: true }, "", location.href);
}

function show(html) {
  if (!replace(html)) return;
  say("");
  const told = main().querySelector("[data-problem], [data-said]");
  if (told !== null) say(told.textContent.trim());
  (main().querySelector("[data-problem]") ?? main()).focus({ preventScroll: true });
  window.scrollTo({ top: 0 });
}

// What comes by itself moves nobody: who reads stays where they are, and hears what became of it.
function swap(html) {
  const stood = document.activeElement === main();
  if (!replace(html)) return;
  if (stood) main().focus({ preventScroll: true });
  say(main().querySelector("[data-outcome]")?.textContent.trim() ?? "");
}

function replace(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const arrived = page.getElementById("main");
  if (arrived === null) { location.reload(); return false; }
  leave();
  main().replaceWith(document.adoptNode(arrived));
  for (const part of ["header.top nav"]) {
    const fresh = page.querySelector(part), old = document.querySelector(part);
    if (fresh !== null && old !== null) old.replaceWith(document.adoptNode(fresh));
  }
  document.title = page.title;
  arrive();
  return true;
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!main().contains(form) || form.hasAttribute("data-plain") || form.method === "dialog") return;
  event.preventDefault();
  if (busy) return;
  busy = true;
  main().setAttribute("aria-busy", "true");
  try {
    await send(form, event.submitter);
  } catch {
    say("The server did not answer. Whether it was done, the page will show once it is loaded again.");
  } finally {
    busy = false;
    main().removeAttribute("aria-busy");
  }
});

window.addEventListener("popstate", () => location.reload());

// ---- keys --------------------------------------------------------------------------------------------------------------

const OFF = "keys-off";
const GO = { o: "/", q: "/queue", p: "/proposals", c: "/threads", r: "/rejected", a: "/audit" };
const help = document.getElementById("keys");
let after = "";

const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const isTyping = (place) => place.closest("input, textarea, select, [contenteditable]") !== null;

function move(step) {
  const links = [...main().querySelectorAll("[data-row] [data-open]")];
  if (links.length === 0) return;
  const at = links.indexOf(document.activeElement);
  const next = links[at === -1 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)];
  for (const row of main().querySelectorAll("[data-row].current")) row.classList.remove("current");
  next.closest("[data-row]").classList.add("current");
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function search() {
  const box = main().querySelector("[data-search]");
  if (box === null) location.assign("/queue");
  else box.focus();
}

function claim() {
  const place = main().querySelector("[data-claim]");
  if (place === null) return;
  if (place instanceof HTMLFormElement) place.requestSubmit();
  else place.focus();
}

function press(key) {
  if (after === "g") {
    after = "";
    if (key in GO) location.assign(GO[key]);
    return key in GO;
  }
  switch (key) {
    case "?": help.showModal(); return true;
    case "/": search(); return true;
    case "j": move(1); return true;
    case "k": move(-1); return true;
    case "o": document.activeElement?.matches("[data-open]") && document.activeElement.click(); return true;
    case "c": claim(); return true;
    case "r": location.reload(); return true;
    case "t": document.querySelector("[data-theme-form] button").click(); return true;
    case "g": after = "g"; setTimeout(() => { after = ""; }, 1500); return true;
    default: return false;
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || help.open) return;
  if (stored(OFF) === "yes") return;
  if (press(event.key)) event.preventDefault();
});

const keysButton = document.querySelector("[data-keys]");
keysButton.hidden = false;
keysButton.addEventListener("click", () => help.showModal());
const toggle = help.querySelector("[data-keys-off]");
toggle.checked = stored(OFF) === "yes";
toggle.addEventListener("change", () => { try { localStorage.setItem(OFF, toggle.checked ? "yes" : "no"); } catch { /* forgotten */ } });

// ---- every page --------------------------------------------------------------------------------------------------------

function arrive() {
  if (location.search.includes("said=")) history.replaceState(null, "", location.href.replace(/[?&]said=\w+/, ""));
  goLive(main(), say, swap);
}

arrive();
