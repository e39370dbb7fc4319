// One look at all configured sources: reads and judges them. A source that cannot be read counts as
// busy. Not thread safe; the guard's thread owns it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "agent/busy/gpu_reader.h"
#include "agent/busy/judge.h"
#include "agent/busy/options.h"
#include "agent/busy/own.h"

namespace railgauge::agent {

// The sources and the state that one look passes to the next.
class Looker {
 public:
  // `self`: the agent's pid. `options` have passed read_busy_sources.
  Looker(BusyOptions options, BusySources sources, int self);

  // Looks at all wanted sources. `looking_at` is called with the source that is read now, since a
  // slow source may block the look. `found` is called with each reason before the next source is
  // read.
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
  bool kubelet_seen_ = false;  // a kubelet missing after that may be restarting: busy
  Settle settle_;
};

}  // namespace railgauge::agent
