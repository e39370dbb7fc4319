// What standalone use refuses before anything starts.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "kernels/runner/local_ranks.h"
#include "kernels/runner/standalone.h"

namespace railgauge {
namespace {

Status check_ranks(const StandaloneOptions& options, const KernelInfo& info) {
  if (options.ranks > kMaxLocalRanks)
    return fail(Code::kInvalidArgument,
                fmt::format("{} ranks: at most {} run on one host", options.ranks, kMaxLocalRanks));
  if (info.max_ranks() != 0 && options.ranks > info.max_ranks())
    return fail(Code::kInvalidArgument,
                fmt::format("{} takes {} ranks at most", info.name(), info.max_ranks()));
  if (options.ranks < info.min_ranks())
    return fail(Code::kInvalidArgument,
                fmt::format("{} needs {} ranks", info.name(), info.min_ranks()));
  const auto named = static_cast<std::size_t>(std::ranges::count(options.endpoint, ',')) + 1;
  if (named != 1 && named != options.ranks)
    return fail(Code::kInvalidArgument,
                fmt::format("{} endpoints for {} ranks; name one, or each", named, options.ranks));
  return {};
}

// Of a launcher's ranks, or of those that a launcher will start.
Status check_world(const StandaloneOptions& options, const KernelInfo& info, bool pair) {
  if (pair || options.ranks > 1)
    return fail(Code::kInvalidArgument,
                "a launcher started this rank: --ranks, --listen and --connect say nothing here");
  if (options.world->size < info.min_ranks() ||
      (info.max_ranks() != 0 && options.world->size > info.max_ranks()))
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} takes {} ranks{}; the launcher started {}", info.name(), info.min_ranks(),
                    info.max_ranks() == 0 ? " or more" : "", options.world->size));
  const auto binding = options.parameters.find("binding");
  if (options.records_to.empty() && binding != options.parameters.end() &&
      binding->second != "default")
    return fail(Code::kInvalidArgument,
                "parameter binding: is the launcher's; give it the option (--bind-to, -bind-to)");
  return {};
}

}  // namespace

Status check_standalone(const StandaloneOptions& options) {
  const KernelInfo info = options.row->info();
  RG_TRY(Params::parse(info, options.parameters));
  const bool pair = options.listen || options.connect;
  if (options.world) return check_world(options, info, pair);
  if (options.listen && options.connect)
    return fail(Code::kInvalidArgument, "--listen and --connect exclude each other");
  if (pair && options.ranks > 1)
    return fail(Code::kInvalidArgument, "--ranks and --listen or --connect exclude each other");
  if (pair && options.launches)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: an MPI's launcher starts its ranks; say --ranks 2 in place of "
                            "--listen and --connect",
                            info.name()));
  if (pair && info.max_ranks() == 1)
    return fail(Code::kInvalidArgument,
                fmt::format("{} runs alone; leave out --listen and --connect", info.name()));
  if (!pair && options.ranks == 1 && info.min_ranks() > 1)
    return fail(Code::kInvalidArgument,
                options.launches
                    ? fmt::format("{} needs ranks: --ranks {} starts them by the MPI's launcher",
                                  info.name(), info.min_ranks())
                    : fmt::format("{} needs a peer: --listen on one host, then --connect HOST here",
                                  info.name()));
  if (pair && info.min_ranks() > 2)
    return fail(Code::kInvalidArgument, fmt::format("{} needs {} ranks; start it from a controller",
                                                    info.name(), info.min_ranks()));
  return options.ranks > 1 ? check_ranks(options, info) : Status{};
}

}  // namespace railgauge
