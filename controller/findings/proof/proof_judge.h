// Ends findings of parts by proofs: a part that is as it should be is fixed, and the finding of one
// that is still slow says so. Called on the judge's thread.
#pragma once

#include <string>

#include "controller/findings/parts.pb.h"
#include "controller/findings/proof/run_proof.h"
#include "controller/store/store.h"

namespace railgauge {

// Returns the proof's answer about the part of a finding. kUnsure: the proof did not measure all of
// it, or not the series that showed it. A pair is proved by its own figure. A leaf is proved by all
// of its nodes, with a partner elsewhere. No proof of nodes answers about rails, trunks and spines.
// `worse`: the loss of the finding, a share. `nodes_of_leaf`: all that the controller knows there.
parts::ProofState answer_about(const RunProof& proof, const PartEvidence& evidence, double worse,
                               const std::vector<std::string>& nodes_of_leaf);

// Judges the run where it is a proof: resolves open findings of parts that it proves, and comments
// those that it shows to be slow. `now`: unix seconds. Another run changes nothing, and a proof
// that is judged twice changes nothing the second time.
Status judge_proof(store::Store& store, const std::string& run_id, double now,
                   const LeafSource& leaves);

}  // namespace railgauge
