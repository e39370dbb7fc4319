// Store's functions about preflights, findings and notes, and what a bundle has of them.
#include <utility>

#include "controller/store/queries/bundle.h"
#include "controller/store/queries/remarks.h"
#include "controller/store/store_impl.h"

namespace railgauge::store {

Status Store::put_preflight(PreflightRow preflight) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(preflight)] { return write_preflight(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::open_finding(FindingRow finding) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(finding)] { return write_finding(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Status Store::step_finding(std::string finding_id, FindingStepRow step) {
  return impl_->writer.submit_and_wait(
      [this, id = std::move(finding_id), moved = std::move(step)] {
        return write_finding_step(impl_->connection, id, moved);
      },
      impl_->options.wait_seconds);
}

Status Store::renew_finding(FindingRow finding, FindingStepRow step) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(finding), one = std::move(step)] {
        return write_finding_again(impl_->connection, moved, one);
      },
      impl_->options.wait_seconds);
}

Status Store::add_operator_note(OperatorNoteRow note) {
  return impl_->writer.submit_and_wait(
      [this, moved = std::move(note)] { return write_operator_note(impl_->connection, moved); },
      impl_->options.wait_seconds);
}

Result<std::vector<FindingRow>> Store::list_findings(std::string_view state,
                                                     std::uint32_t limit) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_findings(reader, state, limit); });
}

Result<FindingRow> Store::finding(std::string_view finding_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_finding(reader, finding_id); });
}

Result<PreflightRow> Store::preflight(std::string_view node_id, std::string_view run_id) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_preflight(reader, node_id, run_id); });
}

Result<PreflightRow> Store::preflight_between(std::string_view node_id, double from,
                                              double until) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_preflight_between(reader, node_id, from, until); });
}

Result<std::vector<OperatorNoteRow>> Store::operator_notes(std::string_view subject_kind,
                                                           std::string_view subject) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_operator_notes(reader, subject_kind, subject); });
}

Result<BundlePartRow> Store::bundle_part(std::string_view subject, std::size_t part) const {
  return impl_->readers.run(
      [&](Connection& reader) { return read_bundle_part(reader, subject, part); });
}

}  // namespace railgauge::store
