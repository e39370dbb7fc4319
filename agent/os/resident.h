// Memory of a process at rest, returned to the kernel.
#pragma once

#include <cstddef>

namespace railgauge::agent {

// Frees memory that malloc keeps, and unmaps pages of code and constants: start, handshake and a
// full inventory touch twice as many library pages as a heartbeat does. The kernel keeps those
// pages in its cache and maps them again on use, mostly without a disk read. Writable pages, and
// libraries with relocations in their code, stay mapped. Returns an upper bound of the unmapped
// bytes. Takes less than 1 ms and causes some hundred soft faults later, so call it while nothing
// is measured.
std::size_t give_back_memory();

}  // namespace railgauge::agent
