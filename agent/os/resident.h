// Returns memory that a resting process does not need to the kernel.
#pragma once

#include <cstddef>

namespace railgauge::agent {

// Frees memory that malloc keeps, and unmaps pages of code and constants: start, handshake and a
// full inventory touch twice as much of the libraries as a heartbeat does. The kernel has those
// pages in its cache and maps them again when needed, mostly without a disk read. Writable pages,
// and libraries with relocations in their code, stay mapped. Returns the bytes of mapped files that
// were given back, at most. Costs less than a millisecond and some hundred soft faults later: call
// it when nothing is measured.
std::size_t give_back_memory();

}  // namespace railgauge::agent
