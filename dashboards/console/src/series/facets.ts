// Series by the values of their keys: what there is to choose, how often, and in groups.
import { bytes } from '../parts/format';
import type { Series } from '../api/types';

// Keys of a series in the order in which they are offered; its parameters follow.
export function valuesOf(series: Series): Map<string, string> {
  const values = new Map<string, string>([
    ['kernel', series.kernel],
    ['metric', series.metric],
    ['size', series.message_bytes ? bytes(series.message_bytes) : ''],
    ['meaning', series.meaning],
    ['nodes', [...new Set(series.endpoints.map((one) => one.split('/')[0]))].join(' → ')],
  ]);
  for (const [name, value] of Object.entries(series.parameters)) values.set(name, value);
  for (const [name, value] of values) if (value === '') values.delete(name);
  return values;
}

export type Chosen = Record<string, string>;

const fits = (values: Map<string, string>, chosen: Chosen, but?: string) =>
  Object.entries(chosen).every(([key, value]) => key === but || value === '' || values.get(key) === value);

export const chosenOf = (all: Series[], chosen: Chosen): Series[] => all.filter((one) => fits(valuesOf(one), chosen));

// A key with its values and how many series have each, of those that fit all other choices; the most
// frequent first. Keys with one value are left out, unless it was chosen. A choice that no series has
// is there with none, so that it can be taken back.
export interface Facet {
  key: string;
  values: [string, number][];
}
export function facetsOf(all: Series[], chosen: Chosen): Facet[] {
  const rows = all.map(valuesOf);
  const wanted = new Map(Object.entries(chosen).filter(([, value]) => value !== ''));
  const keys = [...new Set([...rows.flatMap((row) => [...row.keys()]), ...wanted.keys()])];
  return keys
    .map((key) => {
      const counts = new Map<string, number>();
      for (const row of rows) {
        const value = row.get(key);
        if (value !== undefined && fits(row, chosen, key)) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      const choice = wanted.get(key);
      if (choice !== undefined && !counts.has(choice)) counts.set(choice, 0);
      return { key, values: [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])) };
    })
    .filter(({ key, values }) => values.length > 1 || wanted.has(key));
}

// The series by the values of a key; those without it are the last group.
export function splitBy(all: Series[], key: string): { value: string; rows: Series[] }[] {
  const groups = new Map<string, Series[]>();
  for (const one of all) {
    const value = valuesOf(one).get(key) ?? '';
    const group = groups.get(value);
    if (group) group.push(one);
    else groups.set(value, [one]);
  }
  return [...groups].map(([value, rows]) => ({ value, rows })).sort((a, b) => Number(a.value === '') - Number(b.value === '') || a.value.localeCompare(b.value));
}
