// Memory that a process at rest does not need, given back to the kernel.
#pragma once

#include <cstddef>

namespace railgauge::agent {

// Frees what malloc keeps of memory that was freed, and unmaps pages of code and constants: start,
// handshake and a full inventory run through twice as much of the libraries as a heartbeat does.
// The kernel has those pages in its cache and maps again, mostly without reading a disk, what is
// run again. Writable pages, and libraries with relocations in their code, are left alone. Returns
// the bytes of mapped files that it gave up at most. Costs below a millisecond, and some hundred
// soft faults afterwards: for moments when nothing is measured.
std::size_t give_back_memory();

}  // namespace railgauge::agent
