// Facts that an MPI library reports about itself. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace railgauge::mpi {

// Parses the text of MPI_Get_library_version: mpi_version ("Open MPI 4.1.4", "MPICH 4.0.2",
// "MVAPICH2 2.3.7") and, if present, mpi_device ("ch4:ucx").
std::map<std::string, std::string> library_facts(std::string_view text);

// Returns the name in a component's record of Open MPI (mca_base_component_2_1_0_t, unchanged from
// 2.0 to 5.0), or "" when the record is not of framework `type`, as after a change of layout.
std::string component_name(std::string_view record, std::string_view type);
inline constexpr std::size_t kComponentBytes = 148;

}  // namespace railgauge::mpi
