// The part of a certificate that says what a proof shows.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "controller/certificate/evidence/shared.h"
#include "controller/findings/proof/run_proof.h"

namespace railgauge::certificate {
namespace {

// The share of the figure, in percent, of a logarithm.
double percent_of_loss(double loss) { return percent_of(-std::expm1(-loss)); }

// The larger of two, where one may be absent.
void take_larger(std::optional<double>& known, const std::optional<double>& other) {
  if (other) known = known ? std::max(*known, *other) : other;
}

// The figures that all parts of one series have in common; logarithms, positive is worse.
struct SeriesOfProof {
  double parts = 0;
  std::optional<double> of_peers{};
  std::optional<double> of_past{};
  std::optional<double> called{};
};

// A row for each series: its largest losses, and the largest of the losses from which on a part is
// called, so that a larger loss of any of them would have been seen.
void add_series(const RunProof& proof, Proof& out) {
  std::map<std::string, SeriesOfProof> all;
  for (const ProvedPart& part : proof.parts) {
    SeriesOfProof& series = all[part.series];
    ++series.parts;
    take_larger(series.of_peers, part.answer.of_peers);
    take_larger(series.of_past, part.answer.of_past);
    take_larger(series.called, part.answer.called_of_peers ? part.answer.called_of_peers
                                                           : part.answer.called_of_past);
  }
  for (const auto& [text, series] : all) {
    ProvedSeries& told = *out.add_series();
    told.set_series(text);
    told.set_parts(series.parts);
    if (series.of_peers) told.set_worst_of_peers_percent(percent_of_loss(*series.of_peers));
    if (series.of_past) told.set_worst_of_past_percent(percent_of_loss(*series.of_past));
    if (series.called) told.set_called_from_percent(percent_of_loss(*series.called));
  }
}

}  // namespace

// The proof is judged anew, as the rest of a certificate is read anew.
Status add_proof(const store::Store& store, const std::string& run_id, const LeafSource& leaves,
                 Certificate& out) {
  const RunProof proof = RG_TRY(proof_of_run(store, run_id, leaves));
  Proof& told = *out.mutable_proof();
  told.set_verdict(std::string(proof_word(proof.state)));
  out.set_verdict(told.verdict());
  told.set_partners(folded(proof.partners));
  for (const NodeProof& node : proof.nodes) {
    ProvedNode& one = *told.add_nodes();
    one.set_node(node.node);
    one.set_verdict(std::string(proof_word(node.state)));
    for (const std::string& line : node.worse) one.add_worse(line);
    for (const std::string& line : node.unsure) one.add_unsure(line);
    one.set_parts(static_cast<double>(node.parts));
    one.set_parts_without_past(static_cast<double>(node.without_past));
  }
  add_series(proof, told);
  for (const std::string& limit : proof.limits) out.add_limits(limit);
  return {};
}

}  // namespace railgauge::certificate
