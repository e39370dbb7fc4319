// A program without MPI. Programs with MPI link binding.cc, whose object comes first.
#include "kernels/mpi/binding/calls.h"

namespace railgauge::mpi {

Calls* linked() { return nullptr; }

}  // namespace railgauge::mpi
