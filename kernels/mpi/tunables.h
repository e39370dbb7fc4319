// The settings that a site tunes in its MPI, under common names, and each implementation's name for
// them. Also THE allow-list: a task sets only these variables of an MPI. Pure.
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

// Implementations with different tunables.
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

// One variable for the ranks' environment.
struct Setting {
  enum class Place : std::uint8_t { kEnvironment, kMca };
  Place place = Place::kEnvironment;
  std::string name;  // "UCX_TLS", "btl_openib_if_include"
  std::string value;
  bool operator==(const Setting&) const = default;
  // Returns the environment variable; for Open MPI's parameters it begins with OMPI_MCA_.
  [[nodiscard]] std::string variable() const {
    return place == Place::kMca ? "OMPI_MCA_" + name : name;
  }
};

// Declares kTunables and binding.
void add_tunables(InfoBuilder& builder);

// Translates the `parameters` that are set (canonical text). `local_rank` selects this process's
// entry of process_to_rail when the implementation has no such list. kFailedPrecondition, naming
// both, when this implementation lacks a tunable; kInvalidArgument for a meaningless one.
Result<std::vector<Setting>> settings_of(Flavour flavour,
                                         const std::map<std::string, std::string>& parameters,
                                         bool on_gpu, std::uint32_t local_rank);

// Reports whether the implementation has the tunable.
bool has_tunable(Flavour flavour, std::string_view parameter);

// Returns the extra setting of one-sided calls for a named layer, which a site's file may turn off.
std::optional<Setting> one_sided_setting(Flavour flavour, std::string_view layer);

// Returns all parameters that settings_of() and flavour_of() may query in Open MPI.
std::vector<std::string> open_mpi_parameters();

// Returns kFailedPrecondition when, by `has`, the installed MPI lacks one of Open MPI's parameters:
// Open MPI itself silently accepts any name.
Status check_installed(const std::vector<Setting>& settings,
                       const std::function<bool(const std::string&)>& has);

// Returns the implementation from the library's facts (library_facts.h), the parameter `layer`, and
// `has`, which reports whether Open MPI has a parameter.
Result<Flavour> flavour_of(const std::map<std::string, std::string>& facts, std::string_view layer,
                           const std::function<bool(const std::string&)>& has);

}  // namespace railgauge::mpi
