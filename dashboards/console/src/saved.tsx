// The views that this browser has saved: to open one, to name the present one, to remove one.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Name } from './parts';
import { keepViews, readViews, withView, type View } from './views';

export function SavedViews({ close }: { close: () => void }) {
  const [views, setViews] = useState<View[]>(readViews);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const keep = (all: View[]) => {
    keepViews(all);
    setViews(all);
  };
  const save = (event: Event) => {
    event.preventDefault();
    keep(withView(views, { name: field.current!.value, hash: location.hash || '#/' }));
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
      {views.length === 0 && <p class="quiet">None yet. They stay in this browser; a URL is for everybody.</p>}
      <ul class="plain">
        {views.map((view) => (
          <li key={view.name}>
            <a href={view.hash} onClick={close}><Name text={view.name} /></a>{' '}
            <button type="button" class="link" aria-label={`remove ${view.name}`} onClick={() => keep(views.filter((one) => one !== view))}>remove</button>
          </li>
        ))}
      </ul>
      <button type="button" onClick={close}>Close</button>
    </dialog>
  );
}
