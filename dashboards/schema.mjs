// Compares boards with the types that Grafana publishes: node schema.mjs TOOLS BOARD.json...
// Prints a line for each fault, then the count. Exit 1: a fault. Every member is compared, and one that the types do not
// have is a fault: board, panels with the options of their kind, queries, field settings and their overrides, links,
// variables and marks. Units, and variables of links, are compared with the lists in the package.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';

const tools = resolve(process.argv[2]);
const ts = createRequire(tools + '/')('typescript');
const data = join(tools, 'node_modules/@grafana/data/dist/esm');
const units = new Set([...readFileSync(join(data, 'valueFormats/categories.js'), 'utf8').matchAll(/ id: "([^"]+)"/g)].map((found) => found[1]));
const linkWords = new Set([...readFileSync(join(data, 'utils/dataLinks.js'), 'utf8').matchAll(/: "(__[^"]+)"/g)].map((found) => found[1]));

const kinds = { stat: 'Stat', timeseries: 'TimeSeries', table: 'Table', bargauge: 'BarGauge' };
const rawTypes = (kind) => `@grafana/schema/dist/esm/raw/composable/${kind}/panelcfg/x/${kinds[kind]}PanelCfg_types.gen`;
// JSON has the values of an enum, not its members.
const head = `
import type * as g from '@grafana/schema';
import type { DataLink, DataTransformerID, FieldMatcherID, ReducerID } from '@grafana/data';
import type { PrometheusDataQuery } from '@grafana/schema/dist/esm/raw/composable/prometheus/dataquery/x/PrometheusDataQuery_types.gen';
${Object.keys(kinds).map((kind) => `import type * as ${kind} from '${rawTypes(kind)}';`).join('\n')}
type Loose<T> = T extends string ? \`\${T}\` : T extends number ? (\`\${T}\` extends \`\${infer N extends number}\` ? N : T)
  : T extends (infer E)[] ? Loose<E>[] : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;
type Override = { matcher: { id: \`\${FieldMatcherID}\`; options: string }; properties: { id: string; value: unknown }[] };
type Fields<F> = { defaults: Omit<Loose<g.FieldConfig<F>>, 'links'> & { links?: DataLink[] }; overrides: Override[] };
type Board = Omit<Loose<g.Dashboard>, 'panels' | 'annotations'> & { panels: unknown[]; annotations: { list: unknown[] } };
type Calcs = { calcs: \`\${ReducerID}\`[] };
type PanelOf<O, F> = Omit<Loose<g.Panel>, 'options' | 'targets' | 'fieldConfig' | 'transformations'> & {
  options: O; fieldConfig: Fields<F>; targets: Loose<PrometheusDataQuery>[];
  transformations?: { id: \`\${DataTransformerID}\`; options: unknown }[] };
type Reduced<O> = Omit<Loose<O>, 'reduceOptions'> & { reduceOptions: Calcs & { values: boolean } };
type Panels = {
  stat: PanelOf<Reduced<stat.Options>, {}>; bargauge: PanelOf<Reduced<bargauge.Options>, {}>;
  table: PanelOf<Loose<table.Options>, table.FieldConfig>;
  timeseries: PanelOf<Omit<Loose<timeseries.Options>, 'legend'> & { legend: Omit<Loose<g.VizLegendOptions>, 'calcs'> & Calcs }, timeseries.FieldConfig> };
type Property = {
  unit: string; links: DataLink[]; mappings: Loose<g.ValueMapping>[]; color: Loose<g.FieldColor>;
  'custom.lineStyle': Loose<NonNullable<timeseries.FieldConfig['lineStyle']>>; 'custom.cellOptions': Loose<g.TableCellOptions> };
type Mark = Loose<g.AnnotationQuery> & { expr: string; step: string; titleFormat: string; useValueForTime: boolean };
`;

const faults = [];
const fault = (where, what) => faults.push(`${where}: ${what}`);

// Strings at any depth that are links, and units.
function checkWords(where, value) {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === 'unit' && !units.has(item)) fault(where, `Grafana has no unit ${item}`);
    if (key === 'value' && value.id === 'unit' && !units.has(item)) fault(where, `Grafana has no unit ${item}`);
    if (key === 'url')
      for (const [, word] of item.matchAll(/\$\{(__[a-zA-Z_.]+)\}/g))
        if (!linkWords.has(word) && !word.startsWith('__field.labels.')) fault(where, `a link has no variable ${word}`);
    checkWords(where, item);
  }
}

// Constants that the compiler compares with their types, each with the place that it is of.
function constantsOf(name, board) {
  const made = [];
  const add = (where, type, value) => made.push({ where, type, value });
  add(name, 'Board', { ...board, panels: [], annotations: { list: [] } });
  for (const mark of board.annotations.list) add(`${name}: ${mark.name}`, 'Mark', mark);
  for (const panel of board.panels) {
    const where = `${name}: ${panel.title}`;
    if (!(panel.type in kinds)) { fault(where, `unknown kind ${panel.type}`); continue; }
    add(where, `Panels['${panel.type}']`, panel);
    for (const override of panel.fieldConfig?.overrides ?? [])
      for (const property of override.properties ?? []) add(`${where}: ${property.id}`, `Property['${property.id}']`, property.value);
  }
  return made;
}

const boards = process.argv.slice(3);
const constants = boards.flatMap((path) => {
  const board = JSON.parse(readFileSync(path, 'utf8'));
  checkWords(basename(path), board);
  return constantsOf(basename(path), board);
});
const folder = mkdtempSync(join(tools, 'check-'));
const source = join(folder, 'check.ts');
const lines = head.split('\n').length - 1;
writeFileSync(source, head + constants.map(({ type, value }, i) => `export const c${i}: ${type} = ${JSON.stringify(value)};`).join('\n') + '\n');
const program = ts.createProgram([source], { noEmit: true, strict: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Node10, types: [] });
for (const one of ts.getPreEmitDiagnostics(program, program.getSourceFile(source))) {
  const line = one.file.getLineAndCharacterOfPosition(one.start).line;
  fault(line < lines ? 'types' : constants[line - lines].where, ts.flattenDiagnosticMessageText(one.messageText, ' ').replace(/\s+/g, ' ').slice(0, 300));
}
rmSync(folder, { recursive: true });
for (const line of new Set(faults)) console.log(line);
console.log(`${boards.length} boards, ${constants.length} parts, ${faults.length} faults`);
process.exit(faults.length === 0 && constants.length > 0 && units.size > 0 && linkWords.size > 0 ? 0 : 1);
