// Figures and times for people, as the tables of `railgauge` have them.
import { now } from './clock';

// Three digits of a number, without an exponent.
const digits = (value: number) => {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
};

export function figure(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (unit === 'bytes_per_second') return `${digits(value / 1e9)} GB/s`;
  if (unit === 'ns') return `${digits(value / 1e3)} µs`;
  return `${digits(value)} ${unit}`;
}

// A message size in the largest binary unit that divides it.
export function bytes(count: number): string {
  if (!count) return 'any size';
  const names = ['B', 'KiB', 'MiB', 'GiB'];
  let at = 0;
  while (at + 1 < names.length && count >= 1024 && count % 1024 === 0) {
    count /= 1024;
    ++at;
  }
  return `${count} ${names[at]}`;
}

export function percent(share: number | null | undefined, places = 1): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return '–';
  return `${(100 * share).toFixed(places)} %`;
}

export function signed(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  return `${value > 0 ? '+' : ''}${value.toFixed(1)} %`;
}

// In UTC, to the minute: what a log beside it says.
export function time(text: string | null | undefined): string {
  if (!text) return '–';
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

// Seconds since 1970 of the interface's times, such as 2026-01-02T03:04:05.678Z. A series has
// thousands of them, for which Date needs more time than the drawing; NaN for what Date does not read.
let lastDay = '';
let lastDayBegins = NaN;
export function secondsOf(text: string): number {
  if (text.length < 20 || text[10] !== 'T' || text[19] !== '.' && text[19] !== 'Z' || !text.endsWith('Z')) return Date.parse(text) / 1000;
  const day = text.slice(0, 10);
  if (day !== lastDay) {
    lastDay = day;
    lastDayBegins = Date.parse(day) / 1000;
  }
  const two = (at: number) => 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 11 * 48;
  const fraction = text.length > 20 ? Number(`0${text.slice(19, -1)}`) : 0;
  return lastDayBegins + 3600 * two(11) + 60 * two(14) + two(17) + fraction;
}

// How long ago a time was, or how far it is ahead.
export function ago(text: string | null | undefined, at = now()): string {
  if (!text) return '';
  const seconds = (at - new Date(text).getTime()) / 1000;
  if (Number.isNaN(seconds)) return '';
  const size = Math.abs(seconds);
  const said =
    size < 90 ? `${Math.round(size)} s`
    : size < 5400 ? `${Math.round(size / 60)} min`
    : size < 172800 ? `${Math.round(size / 3600)} h`
    : `${Math.round(size / 86400)} days`;
  return seconds >= 0 ? `${said} ago` : `in ${said}`;
}

// Seconds in the unit that is shortest to read.
export function duration(seconds: number): string {
  if (seconds < 90) return `${seconds.toFixed(1)} s`;
  return seconds < 5400 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// A node set of these names: "gpu[001-003,007],login". Numbers keep their digits.
export function foldNames(names: string[]): string {
  const groups = new Map<string, string[]>();
  for (const name of [...new Set(names)].sort()) {
    const [, before, digits] = /^(.*?)(\d*)$/.exec(name)!;
    const key = digits ? `${before}\n${digits.length}` : name;
    groups.set(key, [...(groups.get(key) ?? []), digits]);
  }
  const folded: string[] = [];
  for (const [key, all] of groups) {
    const before = key.split('\n')[0];
    if (all.length === 1) {
      folded.push(before + all[0]);
      continue;
    }
    const ranges: [string, string][] = [];
    for (const digits of all) {
      const last = ranges[ranges.length - 1];
      if (last && Number(last[1]) + 1 === Number(digits)) last[1] = digits;
      else ranges.push([digits, digits]);
    }
    folded.push(`${before}[${ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(',')}]`);
  }
  return folded.join(',');
}

// The time between two times; a missing end is now.
export function span(from: string | null, to: string | null): string {
  if (!from) return '–';
  return duration(((to ? new Date(to).getTime() : now()) - new Date(from).getTime()) / 1000);
}
