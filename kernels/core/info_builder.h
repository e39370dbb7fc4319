// A kernel's declaration, built by a chain of calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// Samples of a latency before the stop rule is asked: enough for its p99.9, which needs 4,603.
inline constexpr std::int64_t kLatencySamples = 5000;

// Builds a KernelInfo. Bounds are doubles, so integers above 2^53 are not exact and not used. Not
// thread safe.
class InfoBuilder {
 public:
  // `name` is "family.kernel". `revision` increases when the figures change their meaning.
  // `summary` is one line without a period.
  InfoBuilder(std::string name, std::uint32_t revision, std::string summary);
  // The defaults are one rank and no endpoint. A maximum of 0 means any number. `kind` is "nic",
  // "gpu" or "none".
  InfoBuilder& ranks(std::uint32_t minimum, std::uint32_t maximum);
  InfoBuilder& endpoint(std::string kind);
  // Names of the metrics that the kernel's points have; a name ends in its unit.
  InfoBuilder& metrics(const std::vector<std::string>& names);
  // `minimum` is 0 where empty messages are measured too.
  InfoBuilder& sizes(std::string default_value, double minimum = 1);
  // Each declares a parameter of its type. The default is the text that a person would write;
  // bounds are in the parameter's unit.
  InfoBuilder& integer(std::string name, std::string summary, std::int64_t default_value,
                       double minimum, double maximum);
  InfoBuilder& number(std::string name, std::string summary, std::string default_value,
                      double minimum, double maximum);
  InfoBuilder& duration(std::string name, std::string summary, std::string default_value,
                        double minimum_ns, double maximum_ns);
  InfoBuilder& bytes(std::string name, std::string summary, std::string default_value,
                     double maximum);
  InfoBuilder& text(std::string name, std::string summary, std::string default_value);
  InfoBuilder& boolean(std::string name, std::string summary, bool default_value);
  // The first of `choices` is the default.
  InfoBuilder& choice(std::string name, std::string unit, std::string summary,
                      const std::vector<std::string>& choices);  // the first is the default
  // Makes the parameter declared last part of a series' identity.
  InfoBuilder& identity();
  // Lets each rank choose its own value of the parameter declared last.
  InfoBuilder& per_rank();
  // Declares iterations, min_samples, max_samples, precision, time_cap and verify. `operation` is
  // the unit of iterations.
  InfoBuilder& sampling(const std::string& operation, std::int64_t min_samples,
                        std::int64_t max_samples);
  // Declares least_time, for rates: see SamplerOptions::least_measure_ns.
  InfoBuilder& least_time(const std::string& default_value);
  // Declares proof_time, for kernels whose messages travel: see kernels/core/proof/proof_plan.h.
  InfoBuilder& proof_time();
  // Calls `declare`, which declares a family's own set of parameters here.
  template <class Declare>
  InfoBuilder& apply(Declare declare) {
    declare(*this);
    return *this;
  }
  // Returns the declaration built so far.
  [[nodiscard]] KernelInfo build() const { return info_; }

 private:
  ParameterInfo& add(std::string name, std::string type, std::string unit, std::string summary,
                     std::string default_value);
  InfoBuilder& bounded(ParameterInfo& made, double minimum, double maximum);
  KernelInfo info_;
};

}  // namespace railgauge
