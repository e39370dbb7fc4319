// The parameters that verbs kernels share, declared once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"

namespace railgauge::verbs {

// Makes a KernelInfo by a form. Integers above 2^53 are not exact in a declaration and not used.
class InfoBuilder {
 public:
  InfoBuilder(std::string name, std::uint32_t revision, std::string summary);
  InfoBuilder& metrics(const std::vector<std::string>& names);
  InfoBuilder& sizes(std::string default_value);
  InfoBuilder& integer(std::string name, std::string summary, std::int64_t default_value,
                       double minimum, double maximum);
  InfoBuilder& number(std::string name, std::string summary, std::string default_value,
                      double minimum, double maximum);
  InfoBuilder& duration(std::string name, std::string summary, std::string default_value,
                        double minimum_ns, double maximum_ns);
  InfoBuilder& bytes(std::string name, std::string summary, std::string default_value,
                     double maximum);
  InfoBuilder& boolean(std::string name, std::string summary, bool default_value);
  InfoBuilder& choice(std::string name, std::string unit, std::string summary,
                      const std::vector<std::string>& choices);  // the first is the default
  // The parameter declared last is part of a series' identity.
  InfoBuilder& identity();
  // The parameter declared last is each rank's own choice.
  InfoBuilder& per_rank();
  // gid_index, mtu, inline_bytes, qp_timeout, retry_count, stall_timeout.
  InfoBuilder& connection(std::string default_inline_bytes);
  // iterations, min_samples, max_samples, precision, time_cap, verify, added_cost_fraction.
  // `operation` is what iterations count.
  InfoBuilder& sampling(const std::string& operation, const std::string& added_cost,
                        std::int64_t min_samples, std::int64_t max_samples);
  [[nodiscard]] KernelInfo build() const { return info_; }

 private:
  ParameterInfo& add(std::string name, std::string type, std::string unit, std::string summary,
                     std::string default_value);
  KernelInfo info_;
};

// The sampler's options from the parameters of sampling(), an iteration being a sample.
// kInvalidArgument when min_samples is above max_samples.
Result<SamplerOptions> sampler_options(const Params& params);

}  // namespace railgauge::verbs
