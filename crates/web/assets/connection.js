/**
 * The connection to the server, as the live parts of a page know it: a line tells since when there is
 * none, and an expired session leads to the login.
 */

/** The path of the login. */
const LOGIN = "/ui/login";

/** The last time at which the server has answered. */
let answeredAt = new Date();

/** Notes an answer of the server. */
export function noteAnswer() {
  answeredAt = new Date();
  line()?.setAttribute("hidden", "");
}

/** Tells since when the server has not answered. */
export function noteSilence() {
  const told = line();
  if (told?.hidden) {
    const { lang, dataset } = document.documentElement;
    const zone = dataset.times === "utc" ? "UTC" : undefined;
    const time = answeredAt.toLocaleTimeString(lang, { timeStyle: "medium", timeZone: zone });
    told.textContent = (told.dataset.text ?? "").replace("{time}", zone ? `${time} UTC` : time);
    told.removeAttribute("hidden");
  }
}

function line() {
  return document.getElementById("connection");
}

/**
 * Goes to the login if an answer came from there: the session has ended.
 *
 * @param {string} address The address that has answered.
 * @returns {boolean} True if the page is being left.
 */
export function leaveForLogin(address) {
  const isLogin = new URL(address).pathname === LOGIN && location.pathname !== LOGIN;
  if (isLogin) {
    location.assign(address);
  }
  return isLogin;
}

/**
 * Asks the server for this page, without its content; goes to the login if the session has ended.
 *
 * @returns {Promise<boolean>} True if the page is being left.
 */
export async function checkSession() {
  const answer = await fetch(location.href, { method: "HEAD", signal: AbortSignal.timeout(10_000) });
  return leaveForLogin(answer.url);
}
