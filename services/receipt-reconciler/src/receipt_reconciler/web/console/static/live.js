// What changes while a page is open: rows are marked and stay where they are; nothing moves under the pointer.

const TAIL_MS = 2000;
const AGAIN_MS = 5000;
let stop = () => {};

/** Listen for a page's changes until `leave`. `say` tells people who do not see the marks, `swap` shows a page in its place. */
export function arrive(main, say, swap) {
  const ends = [];
  if (main.dataset.live) ends.push(listen(main, say, swap));
  const tail = main.querySelector("[data-tail]");
  if (tail !== null) ends.push(follow(tail));
  stop = () => ends.forEach((end) => end());
}

/** End what `arrive` began. */
export function leave() {
  stop();
  stop = () => {};
}

// A hidden page listens to nothing: browsers keep few connections to one server. When it is seen again it compares.
// A page whose outcome is on its way shows it by itself, unless somebody is at work in it.
function listen(main, say, swap) {
  const note = main.querySelector("[data-stale]");
  const mine = new URL(main.dataset.live, location.href).searchParams.get("receipt");
  const settling = "settling" in main.dataset;
  const address = note?.querySelector("[data-refresh]")?.href ?? location.href;
  const others = new Set();
  let source = null, saidAt = 0, edited = false;
  const edit = () => { edited = true; };
  const isAtWork = () => edited || (document.activeElement !== main && main.contains(document.activeElement));

  function tell(text) {
    if (note === null) return;
    note.hidden = false;
    note.querySelector("[data-stale-text]").textContent = text;
    if (Date.now() - saidAt > AGAIN_MS) { saidAt = Date.now(); say(text); }
  }

  function changed(ids) {
    if (mine !== null) {
      if (ids.includes(mine)) compare();
      return;
    }
    for (const id of ids) {
      const rows = main.querySelectorAll(`[data-receipt="${CSS.escape(id)}"]`);
      for (const row of rows) row.querySelector("[data-changed]").hidden = false;
      if (rows.length === 0) others.add(id);
    }
    const marked = main.querySelectorAll("[data-changed]:not([hidden])").length;
    const words = [];
    if (marked > 0) words.push(`${marked} of these ${marked === 1 ? "has" : "have"} changed.`);
    if (others.size > 0) words.push(`${others.size} other ${others.size === 1 ? "item has" : "items have"} changed or come.`);
    if (words.length > 0) tell(words.join(" "));
  }

  async function compare() {
    const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
    if (answer === null || !answer.ok) return;
    const html = await answer.text();
    if (!main.isConnected) return;
    const fresh = new DOMParser().parseFromString(html, "text/html");
    if (mine !== null) {
      const mark = fresh.getElementById("main")?.dataset.mark;
      if (mark === main.dataset.mark) return;
      if (settling && mark !== undefined && !isAtWork()) swap(html);
      else tell("This receipt has changed since the page was loaded.");
      return;
    }
    const marks = (place) => new Map([...place.querySelectorAll("[data-receipt]")].map((row) => [row.dataset.receipt, row.dataset.mark]));
    const before = marks(main), now = marks(fresh);
    changed([...new Set([...before.keys(), ...now.keys()])].filter((id) => before.get(id) !== now.get(id)));
  }

  function open() {
    if (source !== null || document.hidden) return;
    source = new EventSource(main.dataset.live);
    source.addEventListener("queue", (event) => changed(JSON.parse(event.data).receipts));
    source.addEventListener("reset", compare);
    source.addEventListener("bye", (event) => { if (JSON.parse(event.data).reason === "access") close(); });
    // What changed before the stream listened, it does not tell; its first word only counts.
    if (settling) source.addEventListener("queue", compare, { once: true });
    let wasLost = false;
    source.addEventListener("error", () => { wasLost = true; });
    source.addEventListener("open", () => { if (wasLost) { wasLost = false; compare(); } });
  }

  function close() {
    source?.close();
    source = null;
  }

  function seen() {
    if (document.hidden) { close(); return; }
    open();
    compare();
  }

  document.addEventListener("visibilitychange", seen);
  main.addEventListener("input", edit);
  open();
  return () => { document.removeEventListener("visibilitychange", seen); main.removeEventListener("input", edit); close(); };
}

function follow(list) {
  const timer = setInterval(async () => {
    if (document.hidden) return;
    const last = list.querySelector("li:last-of-type")?.dataset.sequence ?? "0";
    const answer = await fetch(`${list.dataset.tail}?after=${last}`, { headers: { Accept: "text/html" } }).catch(() => null);
    if (answer === null || !answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll("li");
    const now = Number(list.querySelector("li:last-of-type")?.dataset.sequence ?? 0);
    for (const line of fresh) if (Number(line.dataset.sequence) > now) list.append(document.adoptNode(line));
    if (fresh.length > 0) list.parentElement.querySelector("[data-no-events]")?.remove();
  }, TAIL_MS);
  return () => clearInterval(timer);
}
