// The table of tunables and implementations, and the translation of one task's parameters into the
// variables of one MPI.
#include "kernels/mpi/tunables.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::mpi {
namespace {

using Place = Setting::Place;

// The notation of a value for an implementation.
enum class Style : std::uint8_t {
  kText,
  kOneOrZero,
  kYesOrNo,
  kBytes,
  kOwnEntry,
  kRailNumbers,
  kHcas
};

// One tunable of the implementations that have it under one name. Without a row an implementation
// does not have the tunable.
struct Row {
  std::string_view parameter;
  std::array<Flavour, 2> flavours;
  Place place;
  std::string_view name;
  Style style;
  [[nodiscard]] bool is_of(Flavour flavour) const {
    return flavours[0] == flavour || flavours[1] == flavour;
  }
};
constexpr Place kEnv = Place::kEnvironment;
constexpr Place kMca = Place::kMca;
constexpr std::array kMvapich{Flavour::kMvapich2, Flavour::kMvapich2Gdr};
constexpr std::array kGdr{Flavour::kMvapich2Gdr, Flavour::kMvapich2Gdr};
constexpr std::array kUcx{Flavour::kOpenMpiUcx, Flavour::kMpichUcx};
constexpr std::array kOpenMpiUcx{Flavour::kOpenMpiUcx, Flavour::kOpenMpiUcx};
constexpr std::array kOpenib{Flavour::kOpenMpiOpenib, Flavour::kOpenMpiOpenib};
constexpr std::array kBtls{Flavour::kOpenMpiOpenib, Flavour::kOpenMpiOb1};
constexpr std::array kOfi{Flavour::kMpichOfi, Flavour::kMpichOfi};
constexpr std::array kRows{
    Row{"gpudirect", kGdr, kEnv, "MV2_USE_GPUDIRECT", Style::kOneOrZero},
    Row{"gpudirect", kOpenib, kMca, "btl_openib_want_cuda_gdr", Style::kOneOrZero},
    Row{"gpudirect", kUcx, kEnv, "UCX_IB_GPU_DIRECT_RDMA", Style::kYesOrNo},
    Row{"gpudirect_limit", kGdr, kEnv, "MV2_GPUDIRECT_LIMIT", Style::kBytes},
    Row{"gpudirect_limit", kOpenib, kMca, "btl_openib_cuda_rdma_limit", Style::kBytes},
    Row{"cuda_block", kGdr, kEnv, "MV2_CUDA_BLOCK_SIZE", Style::kBytes},
    Row{"rendezvous", kMvapich, kEnv, "MV2_IBA_EAGER_THRESHOLD", Style::kBytes},
    Row{"rendezvous", kUcx, kEnv, "UCX_RNDV_THRESH", Style::kBytes},
    Row{"rendezvous", kOpenib, kMca, "btl_openib_eager_limit", Style::kBytes},
    Row{"hca_list", kMvapich, kEnv, "MV2_IBA_HCA", Style::kHcas},
    Row{"hca_list", kUcx, kEnv, "UCX_NET_DEVICES", Style::kText},
    Row{"hca_list", kOpenib, kMca, "btl_openib_if_include", Style::kText},
    Row{"process_to_rail", kMvapich, kEnv, "MV2_PROCESS_TO_RAIL_MAPPING", Style::kRailNumbers},
    Row{"process_to_rail", kUcx, kEnv, "UCX_NET_DEVICES", Style::kOwnEntry},
    Row{"process_to_rail", kOpenib, kMca, "btl_openib_if_include", Style::kOwnEntry},
    Row{"transports", kUcx, kEnv, "UCX_TLS", Style::kText},
    Row{"transports", kOfi, kEnv, "FI_PROVIDER", Style::kText},
    Row{"transports", kBtls, kMca, "btl", Style::kText},
    Row{"offload", kOpenib, kMca, "coll_fca_enable", Style::kOneOrZero},
    Row{"offload", kOpenMpiUcx, kMca, "coll_hcoll_enable", Style::kOneOrZero}};

// Upper bound of the tunables that are sizes, in bytes.
constexpr double kMostBytes = 1U << 30U;
// Open MPI has these parameters where it was built with UCX, and with openib.
constexpr const char* kHasUcx = "pml_ucx_verbose";
constexpr const char* kHasOpenib = "btl_openib_if_include";

// Whether the task sets it: the neutral value of a switch is "default", of a size "0", of a text
// "".
bool is_set(const std::string& parameter, const std::string& value) {
  if (parameter == "gpudirect" || parameter == "offload") return value != "default";
  const bool is_size =
      parameter == "gpudirect_limit" || parameter == "cuda_block" || parameter == "rendezvous";
  return !value.empty() && !(is_size && value == "0");  // a rail may have the number 0
}

// Reports whether a value consists of device names and numbers in lists only, with nothing that
// another reader could interpret.
bool is_plain(std::string_view value) { return made_of(value, "_-.,:/^"); }

// The value in the words of that implementation. `local_rank` counts from 0 on each node.
Result<std::string> written(const Row& row, const std::string& value, std::uint32_t local_rank) {
  switch (row.style) {
    case Style::kOneOrZero:
      return std::string(value == "on" ? "1" : "0");
    case Style::kYesOrNo:
      return std::string(value == "on" ? "y" : "n");
    case Style::kBytes:
      return fmt::format("{}", RG_TRY(parse_bytes(value)));
    case Style::kOwnEntry: {
      const auto entries = split(value, ',');
      return std::string(entries[local_rank % entries.size()]);
    }
    case Style::kRailNumbers: {
      std::string joined = value;
      std::ranges::replace(joined, ',', ':');
      return joined;
    }
    case Style::kHcas: {
      std::vector<std::string> names;
      for (const std::string_view entry : split(value, ','))
        names.emplace_back(entry.substr(0, entry.find(':')));
      return fmt::format("{}", fmt::join(names, ":"));
    }
    case Style::kText:
      return value;
  }
  return value;
}

// MVAPICH2 names devices by colons, and the port once for all of them. "" where none is named.
Result<std::string> common_port(const std::string& devices) {
  std::vector<std::string_view> ports;
  for (const std::string_view entry : split(devices, ',')) {
    const std::size_t colon = entry.find(':');
    ports.push_back(colon == entry.npos ? "" : entry.substr(colon + 1));
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (colon != entry.npos && (ports.back().empty() || !std::ranges::all_of(ports.back(), digit)))
      return invalid("parameter hca_list: {} names no port", in_quotes(entry));
    if (ports.back() != ports.front())
      return invalid(
          "parameter hca_list: {}: MVAPICH2 takes one port for all devices; name the same "
          "one of each",
          in_quotes(devices));
  }
  return std::string(ports.front());
}

}  // namespace

// For messages to people, in the order of the flavours.
std::string_view flavour_words(Flavour flavour) {
  constexpr std::array<std::string_view, 8> kWords{"MVAPICH2",
                                                   "MVAPICH2-GDR",
                                                   "Open MPI over UCX",
                                                   "Open MPI with openib",
                                                   "Open MPI without UCX and openib",
                                                   "MPICH over UCX",
                                                   "MPICH over libfabric",
                                                   "MPICH without UCX and libfabric"};
  return kWords[static_cast<std::size_t>(flavour)];
}

// All are part of a figure's identity, since a tuned MPI is another one to compare with.
void add_tunables(InfoBuilder& builder) {
  const std::vector<std::string> kSwitch{"default", "on", "off"};
  builder.choice("layer", "", "what carries Open MPI's messages", {"auto", "ucx", "openib", "ob1"})
      .identity()
      .choice("gpudirect", "", "whether the MPI may let NICs reach GPU memory", kSwitch)
      .identity()
      .bytes("gpudirect_limit", "GPUDirect up to this size; 0: the MPI's own", "0", kMostBytes)
      .identity()
      .bytes("cuda_block", "pieces in which GPU memory is staged; 0: the MPI's own", "0",
             kMostBytes)
      .identity()
      .bytes("rendezvous", "messages of this size and more by rendezvous; 0: the MPI's own", "0",
             kMostBytes)
      .identity()
      .text("hca_list", "NICs to use (mlx5_0:1,mlx5_1:1); empty: the MPI's own choice", "")
      .identity()
      .text("process_to_rail", "the NIC of each process of a node, in turn; empty: the MPI's own",
            "")
      .identity()
      .text("transports", "transports to use (rc,cuda_copy); empty: the MPI's own choice", "")
      .identity()
      .choice("offload", "", "collectives by the fabric (FCA, HCOLL)", kSwitch)
      .identity()
      .choice("binding", "", "what each rank is bound to", {"default", "core", "socket", "none"})
      .identity();
}

bool has_tunable(Flavour flavour, std::string_view parameter) {
  return std::ranges::any_of(
      kRows, [&](const Row& row) { return row.parameter == parameter && row.is_of(flavour); });
}

// Values pass is_plain() before they reach the environment of a process: UCX and Open MPI would
// read more out of a text with blanks or semicolons.
Result<std::vector<Setting>> settings_of(Flavour flavour,
                                         const std::map<std::string, std::string>& parameters,
                                         bool on_gpu, std::uint32_t local_rank) {
  std::vector<Setting> settings;
  if (on_gpu && (flavour == Flavour::kMvapich2Gdr || flavour == Flavour::kMvapich2))
    settings.push_back({kEnv, "MV2_USE_CUDA", "1"});
  for (const std::string parameter : {"gpudirect", "gpudirect_limit", "cuda_block", "rendezvous",
                                      "hca_list", "process_to_rail", "transports", "offload"}) {
    const auto found = parameters.find(parameter);
    if (found == parameters.end() || !is_set(parameter, found->second)) continue;
    if (!is_plain(found->second))
      return invalid("parameter {}: {} holds more than names and numbers", parameter,
                     in_quotes(found->second));
    const auto row = std::ranges::find_if(kRows, [&](const Row& candidate) {
      return candidate.parameter == parameter && candidate.is_of(flavour);
    });
    if (row == kRows.end())
      return fail(Code::kFailedPrecondition,
                  "parameter {}: {} has nothing of the kind; leave it out", parameter,
                  flavour_words(flavour));
    // hca_list and process_to_rail may be one variable in an implementation; both at once make no
    // sense.
    Setting setting{row->place, std::string(row->name),
                    RG_TRY(written(*row, found->second, local_rank))};
    const auto same = [&](const Setting& other) { return other.name == setting.name; };
    if (std::ranges::any_of(settings, same))
      return invalid("parameters hca_list and process_to_rail: both are {} in {}; name one",
                     setting.name, flavour_words(flavour));
    settings.push_back(std::move(setting));
    if (row->style != Style::kHcas) continue;
    if (std::string port = RG_TRY(common_port(found->second)); !port.empty())
      settings.push_back({kEnv, "MV2_DEFAULT_PORT", std::move(port)});
  }
  // Open MPI looks for NICs and may choose another layer, which would ignore these settings.
  const bool named = value_of(parameters, "layer", "auto") != "auto";
  if (flavour == Flavour::kOpenMpiUcx && (named || !settings.empty()))
    settings.insert(settings.begin(), {kMca, "pml", "ucx"});
  if ((named || !settings.empty()) &&
      (flavour == Flavour::kOpenMpiOpenib || flavour == Flavour::kOpenMpiOb1)) {
    // ob1 takes openib when a NIC suits it, and TCP otherwise, regardless of the request.
    const auto chosen = std::ranges::find(settings, "btl", &Setting::name);
    if (chosen == settings.end())
      settings.push_back(
          {kMca, "btl",
           flavour == Flavour::kOpenMpiOpenib ? "openib,self,vader" : "^openib,uct,ofi"});
    settings.insert(settings.begin(), {kMca, "pml", "ob1"});
  }
  return settings;
}

// A named layer also carries one-sided calls: "ucx" by osc ucx, the others by any but that.
std::optional<Setting> one_sided_setting(Flavour flavour, std::string_view layer) {
  if (layer == "auto") return std::nullopt;
  if (flavour == Flavour::kOpenMpiUcx) return Setting{kMca, "osc", "ucx"};
  if (flavour == Flavour::kOpenMpiOb1 || flavour == Flavour::kOpenMpiOpenib)
    return Setting{kMca, "osc", "^ucx"};
  return std::nullopt;
}

// Sorted and without repeats, because the MPI is asked for each name.
std::vector<std::string> open_mpi_parameters() {
  std::vector<std::string> names{"pml", "btl", "osc", kHasUcx, kHasOpenib};
  for (const Row& row : kRows)
    if (row.place == Place::kMca) names.emplace_back(row.name);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Does not check UCX's environment variables: UCX itself warns about unknown ones.
Status check_installed(const std::vector<Setting>& settings,
                       const std::function<bool(const std::string&)>& has) {
  for (const Setting& setting : settings)
    if (setting.place == Place::kMca && !has(setting.name))
      return fail(
          Code::kFailedPrecondition,
          "this Open MPI has no parameter {}; install one that has, or leave the tunable out",
          setting.name);
  return {};
}

// "auto" takes what Open MPI itself prefers: UCX, then openib, then plain TCP and shared memory.
Result<Flavour> flavour_of(const std::map<std::string, std::string>& facts, std::string_view layer,
                           const std::function<bool(const std::string&)>& has) {
  const std::string version = value_of(facts, "mpi_version");
  if (version.starts_with("Open MPI")) {
    // An Open MPI lists a component's parameters only where the component is installed.
    const bool ucx = has(kHasUcx);
    const bool openib = has(kHasOpenib);
    if (layer == "ucx" && !ucx)
      return fail(Code::kFailedPrecondition, version + ": is built without UCX");
    if (layer == "openib" && !openib)
      return fail(Code::kFailedPrecondition, version + ": has no openib");
    if (layer == "ucx" || (layer == "auto" && ucx)) return Flavour::kOpenMpiUcx;
    if (layer == "openib" || (layer == "auto" && openib)) return Flavour::kOpenMpiOpenib;
    return Flavour::kOpenMpiOb1;
  }
  if (layer != "auto")
    return fail(Code::kFailedPrecondition, "parameter layer: {} has no choice of {}", version,
                layer);
  if (version.starts_with("MVAPICH2-GDR")) return Flavour::kMvapich2Gdr;
  if (version.starts_with("MVAPICH2")) return Flavour::kMvapich2;
  const std::string device = value_of(facts, "mpi_device");
  if (device.ends_with(":ofi")) return Flavour::kMpichOfi;
  return device.ends_with(":ucx") ? Flavour::kMpichUcx : Flavour::kMpichOther;
}

}  // namespace railgauge::mpi
