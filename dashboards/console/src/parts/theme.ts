// Pictures on a canvas are drawn again when the colours of the page change.

const kDark = matchMedia('(prefers-color-scheme: dark)');

export function onTheme(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  kDark.addEventListener('change', listener);
  return () => {
    observer.disconnect();
    kDark.removeEventListener('change', listener);
  };
}
