// A node's GPUs and NICs, and which are near each other. Pure.
import type { NodeInfo } from '../api/types';

// A GPU or the port of a NIC.
export interface Device {
  name: string;
  kind: 'gpu' | 'nic';
  numa: number; // -1: unknown
  state: string;
  pci: string;
  distances: Record<string, string>; // of a GPU, by NIC
}
// Nearest first: PCIe switch, several switches, host bridge, NUMA node, the whole system.
const kDistances = ['PIX', 'PXB', 'PHB', 'NODE', 'SYS'];

const text = (value: unknown) => (typeof value === 'string' ? value : '');

// All devices of the node, GPUs first. Fields that an agent does not report are "" or -1.
export function devicesOf(node: Pick<NodeInfo, 'nics' | 'gpus'>): Device[] {
  const device = (row: Record<string, unknown>, kind: 'gpu' | 'nic'): Device => ({
    name: kind === 'gpu' ? text(row.name) : `${text(row.device)}:${row.port ?? ''}`,
    kind,
    numa: Number(row.numa_node_plus_one ?? 0) - 1,
    state: text(row.state),
    pci: text(row.pci_address),
    distances: (row.distances ?? {}) as Record<string, string>,
  });
  return [...node.gpus.map((row) => device(row, 'gpu')), ...node.nics.map((row) => device(row, 'nic'))];
}

// The NICs that no other NIC is nearer than, and how far they are.
export function nearest(gpu: Device, nics: Device[]): { nic: Device; distance: string }[] {
  const place = (nic: Device) => kDistances.indexOf(gpu.distances[nic.name.split(':')[0]] ?? '');
  const known = nics.filter((nic) => place(nic) >= 0);
  const best = Math.min(...known.map(place));
  return known.filter((nic) => place(nic) === best).map((nic) => ({ nic, distance: kDistances[best] }));
}
