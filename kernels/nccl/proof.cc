// Rank 0 orders rounds. A round queues everything at once: fresh input in all slots, the calls, the
// checks. The host reads one word for each segment when all is done, so that the calls follow each
// other as closely as in the timed loops.
#include "kernels/nccl/proof.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"

namespace railgauge::nccl {
namespace {

// NCCL copies 16 bytes at once where both ends are so aligned. A multiple of every element's size.
constexpr std::uint64_t kPlaceAlignment = 16;
// Slots begin as the buffers of applications do.
constexpr std::uint64_t kSlotAlignment = 512;
// Odd, so that no two numbers give the same seed.
constexpr std::uint64_t kSpread = 0xd1342543de82ef95U;
// Time of polling before a wait sleeps between two looks.
constexpr double kRoundSpinNs = 2e6;
// Fewer bytes than these are equal by chance too often to recognise a message.
constexpr std::uint64_t kLeastRecognised = 8;
// Calls between two signs of progress.
constexpr std::uint64_t kCallsBetweenBeats = 16;

}  // namespace

Share share_of(const Plan& plan, std::uint32_t rank, std::uint64_t count) {
  return {.ranks = plan.ranks,
          .rank = rank,
          .root = plan.root,
          .count = count,
          .traffic = plan.traffic.get()};
}

std::uint64_t place_bytes(const Operation& operation, const Plan& plan, std::uint64_t count) {
  std::uint64_t most = 1;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    const Share share = share_of(plan, rank, count);
    most = std::max({most, operation.send_count(share), operation.receive_count(share)});
  }
  const std::uint64_t bytes = most * bytes_of(plan.type);
  return (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
}

std::uint64_t places_of(const Plan& plan, std::uint64_t place_bytes) {
  return std::max<std::uint64_t>(1, (plan.cold_bytes + place_bytes - 1) / place_bytes);
}

bool is_cold(const Operation& operation, const Plan& plan, std::uint64_t count) {
  const std::uint64_t place = place_bytes(operation, plan, count);
  std::uint64_t places = places_of(plan, place);
  if (plan.graph_calls != 0) places = std::min(places, plan.graph_calls * plan.aggregate);
  return plan.cold_bytes > 0 && places * place >= plan.cold_bytes;
}

ProofShape proof_shape(const Operation& operation, const Plan& plan, std::uint64_t count) {
  const std::uint64_t bytes = place_bytes(operation, plan, count);
  ProofShape shape{.slots = proof_slots(bytes),
                   .stride_bytes = (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment};
  if (plan.graph_calls != 0) shape.slots = std::min(shape.slots, plan.graph_calls * plan.aggregate);
  return shape;
}

std::uint64_t compared_bytes(const Operation& operation, const Plan& plan, std::uint64_t count) {
  std::uint64_t elements = 0;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank)
    for (const Segment& segment : operation.result(share_of(plan, rank, count)))
      elements += segment.count;
  return elements * bytes_of(plan.type) * plan.groups;
}

// The numbers of a proof and the fills of the timed part differ in other bits of the seed.
Values Stage::values_of(std::uint64_t number) const {
  Values values = values_;
  values.seed ^= (number + 1) * kSpread;
  return values;
}

Status Stage::prove(const ProofRound& round) {
  RG_CHECK(data_ && round.slots > 0);
  RG_TRY_OK(begin_round(round));
  RG_TRY_OK(run_round(round));
  return judge_round(round);
}

// Wrong bytes where results are to come, then the input, which in place is among them.
Status Stage::begin_round(const ProofRound& round) {
  const Cuda& cuda = loaded_cuda();
  const std::uint64_t words = std::max<std::uint64_t>(1, round.slots * segments_.size());
  if (found_.data() == 0 || found_.size() < words * sizeof(std::uint32_t))
    found_ = RG_TRY(GpuBuffer::allocate(gpu_->name(), words * sizeof(std::uint32_t)));
  RG_TRY_OK(gpu_status(*gpu_, cuda.memset_d8(found_.data(), 0xff, words * sizeof(std::uint32_t)),
                       "prepare to prove data"));
  const std::uint64_t received = operation_->receive_count(call_.share) * call_.element_bytes;
  if (received > 0)
    RG_TRY_OK(gpu_status(*gpu_,
                         cuda.memset_d8(plan_.in_place ? send_.data() : receive_.data(), kPoison,
                                        (round.slots - 1) * stride_bytes_ + received),
                         "make the receive buffer wrong"));
  // The calls' stream does not wait for what clears.
  RG_TRY_OK(gpu_status(*gpu_, cuda.stream_synchronize(nullptr), "wait for the fresh buffers"));
  const std::uint64_t sent = operation_->send_count(call_.share);
  for (std::uint64_t k = 0; k < round.slots; ++k)
    RG_TRY_OK(data_->queue_fill(stream_.get(), address_of(call_in(k).send), sent,
                                values_of(round.first + k), plan_.rank));
  return {};
}

// One launch of a graph of all calls, or the calls one by one. A round of many calls shows its
// progress, for none may take longer than the limit of a sample.
Status Stage::run_round(const ProofRound& round) {
  const auto queue_slot = [this](std::uint64_t slot) -> Status {
    return queued(operation_->enqueue(loaded_nccl(), call_in(slot)));
  };
  // As many calls in a group as the timed ones have.
  const auto queue_from = [&](std::uint64_t first) -> Status {
    const std::uint64_t end = std::min(first + plan_.aggregate, round.slots);
    return in_group([&]() -> Status {
      for (std::uint64_t k = first; k < end; ++k) RG_TRY_OK(queue_slot(k));
      return {};
    });
  };
  if (plan_.graph_calls != 0) {
    if (!proof_graph_)
      proof_graph_ = RG_TRY(Graph::capture(*gpu_, stream_.get(), [&]() -> Status {
        for (std::uint64_t k = 0; k < round.slots; k += plan_.aggregate) RG_TRY_OK(queue_from(k));
        return {};
      }));
    RG_TRY_OK(proof_graph_.launch(*gpu_, stream_.get()));
    RG_TRY_OK(stamp(0));
    RG_TRY_OK(wait(0, "a proof's graph", kRoundSpinNs));
  } else {
    std::size_t beats = 0;
    const std::uint64_t between = std::max(plan_.aggregate, kCallsBetweenBeats);
    for (std::uint64_t k = 0; k < round.slots; k += plan_.aggregate) {
      RG_TRY_OK(queue_from(k));
      const std::uint64_t made = k + plan_.aggregate;
      if (made / between > k / between && beats < kMaxBatch) RG_TRY_OK(stamp(beats++));
    }
    RG_TRY_OK(stamp(beats++));
    for (std::size_t i = 0; i < beats; ++i) RG_TRY_OK(wait(i, "a proof's calls", kRoundSpinNs));
  }
  RG_TRY_OK(queue_checks(round));
  RG_TRY_OK(stamp(0));
  return wait(0, "a proof's checks", kRoundSpinNs);
}

Status Stage::queue_checks(const ProofRound& round) {
  for (std::uint64_t k = 0; k < round.slots; ++k) {
    const cu::DevicePtr memory = address_of(call_in(k).receive);
    for (std::size_t i = 0; i < segments_.size(); ++i)
      RG_TRY_OK(
          data_->queue_check(stream_.get(), memory, segments_[i], values_of(round.first + k),
                             found_.data() + (k * segments_.size() + i) * sizeof(std::uint32_t)));
  }
  return {};
}

// Looks for the first slot with a wrong element, and at the wrong block in it.
Status Stage::judge_round(const ProofRound& round) {
  std::vector<std::uint32_t> words(round.slots * segments_.size());
  if (words.empty()) return {};
  RG_TRY_OK(gpu_status(
      *gpu_,
      loaded_cuda().memcpy_dtoh(words.data(), found_.data(), words.size() * sizeof(std::uint32_t)),
      "read what a proof's checks found"));
  const auto wrong =
      std::ranges::find_if(words, [](std::uint32_t word) { return word != Data::kNothingWrong; });
  if (wrong == words.end()) return {};
  const auto place = static_cast<std::uint64_t>(wrong - words.begin());
  Segment part = segments_[place % segments_.size()];
  const std::uint64_t before = *wrong * Data::kBlock;
  part.offset += before;
  part.first += before;
  part.count = std::min(Data::kBlock, part.count - std::min(before, part.count));
  return describe_round(round, place / segments_.size(), part);
}

// `wrong` is the part of the slot that has a wrong element: other slots are looked at there.
Status Stage::describe_round(const ProofRound& round, std::uint64_t slot, const Segment& wrong) {
  const auto receive = [this](std::uint64_t at) { return address_of(call_in(at).receive); };
  ProofSlots slots;
  if (wrong.count * call_.element_bytes >= kLeastRecognised)
    slots.holds = [&](std::uint64_t at, std::uint64_t number) {
      return data_->holds(receive(at), wrong, values_of(number)).value_or(false);
    };
  std::vector<unsigned char> bytes(wrong.count * call_.element_bytes);
  slots.untouched = [&](std::uint64_t at) {
    // In place a reduction's result comes over this rank's own input.
    Segment own = wrong;
    own.source = static_cast<int>(plan_.rank);
    if (plan_.in_place && operation_->reduces)
      return plan_.ranks > 1 &&
             data_->holds(receive(at), own, values_of(round.first + at)).value_or(false);
    const cu::DevicePtr begin = receive(at) + wrong.offset * call_.element_bytes;
    return loaded_cuda().memcpy_dtoh(bytes.data(), begin, bytes.size()) == cu::kSuccess &&
           std::ranges::all_of(bytes, [](unsigned char one) { return one == kPoison; });
  };
  const std::string difference =
      RG_TRY(data_->difference(receive(slot), wrong, values_of(round.first + slot), 0));
  const std::uint64_t bytes_of_call = moved_bytes(*operation_, call_.share, call_.element_bytes);
  return fail(Code::kDataLoss, "{}: rank {}: {}: {}", gpu_->name(), plan_.rank, operation_->name,
              proof_words(round, bytes_of_call, name_fault(round, slot, slots), difference));
}

// The timed calls' own results come first, before others take their place: a reduction in place has
// none that follow from its input. The receive buffer had wrong bytes when they began.
Status prove_size(Team& team, const Team::Perform& perform, const Operation& operation,
                  const Plan& plan, const ProofShare& share, Measured& measured) {
  const std::uint64_t count =
      share_of_size(operation, measured.asked_bytes, bytes_of(plan.type), plan.ranks);
  const std::uint64_t slots = proof_shape(operation, plan, count).slots;
  if (!(plan.in_place && operation.reduces))
    RG_TRY_OK(team.order({.command = Command::kCheck}, perform));
  const double began_ns = monotonic_now_ns();
  for (std::uint64_t rounds = 0;
       share.wants_round(rounds, measured.proved_messages, monotonic_now_ns() - began_ns);
       ++rounds) {
    RG_TRY_OK(team.order(
        {.command = Command::kProve, .count = slots, .repeat = measured.proved_messages}, perform));
    measured.proved_messages += slots;
  }
  measured.proved_bytes = measured.proved_messages * compared_bytes(operation, plan, count);
  return {};
}

}  // namespace railgauge::nccl
