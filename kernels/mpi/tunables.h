// The settings that a site tunes in its MPI, under one set of names, and each implementation's own
// name for them. Also THE allow-list: a task sets these variables of an MPI and no others. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/mpi_tunables.h"

namespace railgauge::mpi {

// Implementations as far as their tunables differ.
enum class Flavour : std::uint8_t {
  kMvapich2,
  kMvapich2Gdr,
  kOpenMpiUcx,
  kOpenMpiOpenib,
  kOpenMpiOb1,  // neither: TCP and shared memory
  kMpichUcx,
  kMpichOfi,
  kMpichOther,  // neither: ch3 and its like, other implementations of MPICH's interface
};
std::string_view flavour_words(Flavour flavour);  // "Open MPI over UCX"

// One variable that is set in the ranks' environment.
struct Setting {
  enum class Place : std::uint8_t { kEnvironment, kMca };
  Place place = Place::kEnvironment;
  std::string name;  // "UCX_TLS", "btl_openib_if_include"
  std::string value;
  bool operator==(const Setting&) const = default;
  // The variable by which a process gets it: Open MPI's parameters as OMPI_MCA_....
  [[nodiscard]] std::string variable() const {
    return place == Place::kMca ? "OMPI_MCA_" + name : name;
  }
};

// kTunables, and binding.
void add_tunables(InfoBuilder& builder);

// Translates the set ones of `parameters` (canonical text). `local_rank` picks this process's entry
// of process_to_rail where the implementation knows no such list. kFailedPrecondition, naming both,
// for a tunable that this implementation lacks; kInvalidArgument for one that makes no sense.
Result<std::vector<Setting>> settings_of(Flavour flavour,
                                         const std::map<std::string, std::string>& parameters,
                                         bool on_gpu, std::uint32_t local_rank);

// Extra settings for one-sided calls: a named layer's own way, which a site's file may switch off.
std::optional<Setting> one_sided_setting(Flavour flavour, std::string_view layer);

// All that settings_of() and flavour_of() may ask an Open MPI for.
std::vector<std::string> open_mpi_parameters();

// kFailedPrecondition where `has` says that the installed MPI lacks one of Open MPI's parameters:
// Open MPI itself takes any name in silence.
Status check_installed(const std::vector<Setting>& settings,
                       const std::function<bool(const std::string&)>& has);

// From the library's report about itself (library_facts.h), the parameter `layer`, and whether Open
// MPI has a parameter.
Result<Flavour> flavour_of(const std::map<std::string, std::string>& facts, std::string_view layer,
                           const std::function<bool(const std::string&)>& has);

}  // namespace railgauge::mpi
