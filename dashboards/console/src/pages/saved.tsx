// The views that this browser has saved: to open one, to name the present one, to remove one.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Name } from '../parts/parts';
import { keepViews, readViews, whyNotSaved, withView, type View } from '../parts/views';

export function SavedViews({ close }: { close: () => void }) {
  const [views, setViews] = useState<View[]>(readViews);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const [fault, setFault] = useState<string>();
  // Another page of this browser may have saved some since.
  const keep = (changed: (all: View[]) => View[]) => {
    const all = changed(readViews());
    keepViews(all);
    setViews(all);
  };
  const save = (event: Event) => {
    event.preventDefault();
    const view = { name: field.current!.value, hash: location.hash || '#/' };
    const why = whyNotSaved(view);
    setFault(why);
    if (why !== undefined) return;
    keep((all) => withView(all, view));
    field.current!.value = '';
  };
  return (
    <dialog open class="help" id="views" aria-label="saved views" onKeyDown={(event) => event.key === 'Escape' && close()}>
      <h2>Saved views</h2>
      <form class="bar" onSubmit={save}>
        <label>
          Name <input type="text" name="view" ref={field} required maxLength={100} />
        </label>
        <button type="submit">Save this view</button>
      </form>
      {fault !== undefined && <p class="error" role="alert">{fault}</p>}
      {views.length === 0 && <p class="quiet">None yet. They stay in this browser; a URL is for everybody.</p>}
      <ul class="plain">
        {views.map((view) => (
          <li key={view.name}>
            <a href={view.hash} onClick={close}><Name text={view.name} /></a>{' '}
            <button type="button" class="link" aria-label={`remove ${view.name}`} onClick={() => keep((all) => all.filter((one) => one.name !== view.name))}>remove</button>
          </li>
        ))}
      </ul>
      <button type="button" onClick={close}>Close</button>
    </dialog>
  );
}
