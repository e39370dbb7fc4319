// One look at all configured sources: reads, judges, and takes for busy what cannot be read. Not
// thread safe; the guard's thread owns it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "agent/busy/gpus.h"
#include "agent/busy/judge.h"
#include "agent/busy/options.h"
#include "agent/busy/own.h"

namespace railgauge::agent {

class Looker {
 public:
  // `self`: the agent's pid. `options` have passed read_busy_sources.
  Looker(BusyOptions options, BusySources sources, int self);

  // Looks at what is due; what is not keeps its last answer. `looking_at` hears the source that is
  // read now, since a sick one may hold the look up; `found` what one said that spoke, for the same
  // reason: before those behind it are asked.
  BusyReasons look(
      std::span<const int> runners, double now_seconds,
      const std::function<void(const char*)>& looking_at,
      const std::function<void(const BusyReasons&)>& found = [](const BusyReasons&) {});

 private:
  BusyReasons look_at(const std::string& source, double now_seconds);
  BusyReasons marker() const;
  BusyReasons slurm() const;
  BusyReasons load();
  BusyReasons gpu(double now_seconds);
  BusyReasons kubernetes();
  BusyReasons hook() const;

  BusyOptions options_;
  BusySources sources_;
  OwnProcesses own_;
  GpuReader gpus_;
  bool kubelet_seen_ = false;  // then its absence is no idleness: the kubelet may be restarting
  double slow_due_ = -1e18;
  bool had_runners_ = false;
  BusyReasons slow_reasons_;  // of the last slow look
  Settle settle_;
};

}  // namespace railgauge::agent
