// What stays in this browser of each exercise: the answer, whether it passed, how many hints were opened.
const key = (name) => `flashlearn:${name}`;

export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(key(name))) ?? {};
  } catch {
    return {}; // storage is off, or holds what is not ours
  }
}

export function keep(name, changes) {
  try {
    localStorage.setItem(key(name), JSON.stringify({ ...kept(name), ...changes }));
  } catch {
    // without storage the answer lives as long as the page
  }
}
