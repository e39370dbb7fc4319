// The order of findings where a person looks first.
import type { Finding } from '../api/types';

export const confirmedFirst = (all: Finding[]) => [...all].sort((a, b) => Number(b.state === 'confirmed') - Number(a.state === 'confirmed'));
