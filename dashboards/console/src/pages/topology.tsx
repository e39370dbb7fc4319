// A node's GPUs and NICs by NUMA node, with a line from each GPU to the NICs that are nearest to it.
import { devicesOf, nearest, type Device } from '../parts/devices';
import { Name, State, Table } from '../parts/parts';
import type { NodeInfo } from '../api/types';

const kWords: Record<string, string> = {
  PIX: 'one PCIe switch', PXB: 'several PCIe switches', PHB: 'a host bridge', NODE: 'within a NUMA node', SYS: 'across NUMA nodes',
};

const kWidth = 150;
const kHeight = 26;
const kGap = 8;
const kColumn = 2 * kWidth + 150;

function Box({ device, x, y }: { device: Device; x: number; y: number }) {
  const isActive = device.state === 'active';
  const label = device.name.length > 17 ? `${device.name.slice(0, 16)}…` : device.name;
  return (
    <g class={isActive ? 'device' : 'device bad'}>
      <rect x={x} y={y} width={kWidth} height={kHeight} rx="4" />
      <text x={x + 8} y={y + 17}>{isActive ? '●' : '■'} {label}</text>
    </g>
  );
}

export function Topology({ node }: { node: NodeInfo }) {
  const devices = devicesOf(node);
  if (devices.length === 0) return null;
  const nics = devices.filter((device) => device.kind === 'nic');
  const numas = [...new Set(devices.map((device) => device.numa))].sort((a, b) => a - b);
  const places = new Map<Device, { x: number; y: number }>();
  let top = 0;
  const frames = numas.map((numa) => {
    const inside = devices.filter((device) => device.numa === numa);
    const count = { gpu: 0, nic: 0 };
    for (const device of inside)
      places.set(device, { x: device.kind === 'gpu' ? 12 : kColumn - kWidth - 12, y: top + 28 + count[device.kind]++ * (kHeight + kGap) });
    const height = 34 + Math.max(count.gpu, count.nic, 1) * (kHeight + kGap);
    const frame = { numa, y: top, height };
    top += height + 12;
    return frame;
  });
  const lines = devices.filter((device) => device.kind === 'gpu').flatMap((gpu) => nearest(gpu, nics).map((near) => ({ gpu, ...near })));
  return (
    <>
      <h2>Topology</h2>
      <figure>
        <svg class="topology" viewBox={`0 0 ${kColumn} ${top}`} role="img" aria-label="GPUs and NICs by NUMA node; the tables below have the same">
          {frames.map((frame) => (
            <g>
              <rect class="numa" x="1" y={frame.y + 1} width={kColumn - 2} height={frame.height} rx="6" />
              <text class="quiet" x="10" y={frame.y + 18}>{frame.numa < 0 ? 'NUMA node unknown' : `NUMA node ${frame.numa}`}</text>
            </g>
          ))}
          {lines.map(({ gpu, nic, distance }) => (
            <line
              class={`near ${distance}`}
              x1={places.get(gpu)!.x + kWidth} y1={places.get(gpu)!.y + kHeight / 2}
              x2={places.get(nic)!.x} y2={places.get(nic)!.y + kHeight / 2}
            />
          ))}
          {devices.map((device) => <Box device={device} {...places.get(device)!} />)}
        </svg>
        <figcaption class="quiet">GPUs to the left, NICs to the right; a line leads to the nearest NICs, solid over PCIe switches, dashed over a host bridge or further.</figcaption>
      </figure>
      {lines.length > 0 && (
        <details>
          <summary>The same as a table</summary>
          <Table
            caption="each GPU and its nearest NICs"
            rows={lines}
            columns={[
              { head: 'GPU', cell: (row) => <Name text={row.gpu.name} /> },
              { head: 'NIC', cell: (row) => <Name text={row.nic.name} /> },
              { head: 'State', cell: (row) => <State word={row.nic.state === 'active' ? 'active' : row.nic.state || 'unknown'} /> },
              { head: 'Over', cell: (row) => `${row.distance}: ${kWords[row.distance]}` },
            ]}
          />
        </details>
      )}
    </>
  );
}
