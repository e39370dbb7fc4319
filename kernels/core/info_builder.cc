// The parts of a declaration, and the bounds that all kernels share.
#include "kernels/core/info_builder.h"

#include <fmt/format.h>

namespace railgauge {
namespace {

// The largest message: 1 GiB.
constexpr double kMaxMessageBytes = 1U << 30U;
constexpr double kMaxIterations = 1e7;
// 80 MB of samples.
constexpr double kMostSamples = 1e7;
// Bounds of the time cap.
constexpr double kMillisecondNs = 1e6;
constexpr double kHourNs = 3600e9;

}  // namespace

// A kernel of one rank without an endpoint, until the other calls change it.
InfoBuilder::InfoBuilder(std::string name, std::uint32_t revision, std::string summary) {
  info_.set_name(std::move(name));
  info_.set_revision(revision);
  info_.set_summary(std::move(summary));
  info_.set_min_ranks(1);
  info_.set_max_ranks(1);
  info_.set_endpoint_kind("none");
}

InfoBuilder& InfoBuilder::ranks(std::uint32_t minimum, std::uint32_t maximum) {
  info_.set_min_ranks(minimum);
  info_.set_max_ranks(maximum);
  return *this;
}

InfoBuilder& InfoBuilder::endpoint(std::string kind) {
  info_.set_endpoint_kind(std::move(kind));
  return *this;
}

InfoBuilder& InfoBuilder::metrics(const std::vector<std::string>& names) {
  for (const std::string& name : names) info_.add_metrics(name);
  return *this;
}

// Appends a parameter without bounds.
ParameterInfo& InfoBuilder::add(std::string name, std::string type, std::string unit,
                                std::string summary, std::string default_value) {
  ParameterInfo& made = *info_.add_parameters();
  made.set_name(std::move(name));
  made.set_type(std::move(type));
  made.set_unit(std::move(unit));
  made.set_summary(std::move(summary));
  made.set_default_value(std::move(default_value));
  return made;
}

InfoBuilder& InfoBuilder::bounded(ParameterInfo& made, double minimum, double maximum) {
  made.set_minimum(minimum);
  made.set_maximum(maximum);
  return *this;
}

InfoBuilder& InfoBuilder::sizes(std::string default_value, double minimum) {
  return bounded(add("sizes", "bytes_list", "bytes", "message sizes, each measured on its own",
                     std::move(default_value)),
                 minimum, kMaxMessageBytes);
}

InfoBuilder& InfoBuilder::integer(std::string name, std::string summary, std::int64_t default_value,
                                  double minimum, double maximum) {
  return bounded(
      add(std::move(name), "integer", "1", std::move(summary), std::to_string(default_value)),
      minimum, maximum);
}

InfoBuilder& InfoBuilder::number(std::string name, std::string summary, std::string default_value,
                                 double minimum, double maximum) {
  return bounded(add(std::move(name), "number", "1", std::move(summary), std::move(default_value)),
                 minimum, maximum);
}

InfoBuilder& InfoBuilder::duration(std::string name, std::string summary, std::string default_value,
                                   double minimum_ns, double maximum_ns) {
  return bounded(
      add(std::move(name), "duration", "ns", std::move(summary), std::move(default_value)),
      minimum_ns, maximum_ns);
}

InfoBuilder& InfoBuilder::bytes(std::string name, std::string summary, std::string default_value,
                                double maximum) {
  return bounded(
      add(std::move(name), "bytes", "bytes", std::move(summary), std::move(default_value)), 0,
      maximum);
}

InfoBuilder& InfoBuilder::text(std::string name, std::string summary, std::string default_value) {
  add(std::move(name), "text", "", std::move(summary), std::move(default_value));
  return *this;
}

InfoBuilder& InfoBuilder::boolean(std::string name, std::string summary, bool default_value) {
  add(std::move(name), "boolean", "", std::move(summary), default_value ? "true" : "false");
  return *this;
}

InfoBuilder& InfoBuilder::choice(std::string name, std::string unit, std::string summary,
                                 const std::vector<std::string>& choices) {
  ParameterInfo& made =
      add(std::move(name), "choice", std::move(unit), std::move(summary), choices.front());
  for (const std::string& word : choices) made.add_choices(word);
  return *this;
}

// Marks the parameter that was declared last.
InfoBuilder& InfoBuilder::identity() {
  info_.mutable_parameters(info_.parameters_size() - 1)->set_identity(true);
  return *this;
}

InfoBuilder& InfoBuilder::per_rank() {
  info_.mutable_parameters(info_.parameters_size() - 1)->set_per_rank(true);
  return *this;
}

// The stop rule's parameters are not part of the identity: they change the precision of a figure,
// not its meaning.
InfoBuilder& InfoBuilder::sampling(const std::string& operation, std::int64_t min_samples,
                                   std::int64_t max_samples) {
  return integer("iterations",
                 fmt::format("exactly this many {}, without warm-up; 0 measures until the estimate "
                             "is precise",
                             operation),
                 0, 0, kMaxIterations)
      .integer("min_samples", "samples before the stop rule is asked", min_samples, 1, kMostSamples)
      .integer("max_samples", "samples at most", max_samples, 1, kMostSamples)
      .number("precision",
              "stop when the median's 95 % interval is at most this share of it to either side",
              "0.01", 1e-4, 1)
      .duration("time_cap",
                "warm-up and sampling of one size end after this long; no limit to iterations",
                "5s", kMillisecondNs, kHourNs)
      .boolean("verify", "after each size, compare a seeded pattern byte by byte", true);
}

// A person who wants less says so; the time cap and the sample limit end a size before it.
InfoBuilder& InfoBuilder::least_time(const std::string& default_value) {
  return duration("least_time",
                  "samples of one size take at least this long, so that a rare pause is among "
                  "them; time_cap may end it before",
                  default_value, 0, kHourNs);
}

// Not part of the identity: it follows the timed part.
InfoBuilder& InfoBuilder::proof_time() {
  return duration("proof_time",
                  "after its timed part each size sends numbered messages and compares every byte, "
                  "until 500,000 are proved or this long, of all sizes together; 0 sends one ring "
                  "a size, verify false none",
                  "2s", 0, kHourNs);
}

}  // namespace railgauge
