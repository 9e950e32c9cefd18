/**
 * Live pages: the server says when an execution has changed, and the page is fetched again.
 *
 * Without an open stream, the page is fetched every so often instead.
 */

import { refresh } from "./replace.js";

/** @type {EventSource | null} */
let stream = null;
let execution = "";
let isFetching = false;
let isStale = false;

/** Opens the stream of the execution that the page shows, and closes that of another one. */
export function followLive() {
  const address = document.querySelector("[data-live]")?.getAttribute("data-live") ?? "";
  const name = address.split("?")[0];
  if (name === execution) {
    return;
  }
  stream?.close();
  stream = null;
  execution = name;
  if (name !== "") {
    stream = new EventSource(address);
    stream.addEventListener("update", changed);
  }
}

/** Fetches the page again; changes that arrive meanwhile are fetched together. */
async function changed() {
  isStale = true;
  if (isFetching) {
    return;
  }
  isFetching = true;
  while (isStale) {
    isStale = false;
    await refresh().catch(() => undefined);
  }
  isFetching = false;
}
