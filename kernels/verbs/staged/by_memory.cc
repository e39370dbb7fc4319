#include "kernels/verbs/staged/by_memory.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/staged/curve_report.h"

namespace railgauge::verbs {
namespace {

MemoryKind staged_twin_of(MemoryKind kind) {
  return kind == MemoryKind::kCuda ? MemoryKind::kStaged : kind;
}

// One of the two, and where its points go.
struct Part {
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<CurveReporter> reporter;

  template <class Step>
  Status take(Context& context, Step step) {
    if (reporter == nullptr) return {};
    Context own{context.params,
                *reporter,
                context.clock,
                context.endpoint,
                context.deadline_monotonic_ns,
                context.raw_samples,
                context.rank};
    return step(*kernel, own);
  }
};

class ByMemory final : public Kernel {
 public:
  ByMemory(MakeKernel direct, Verb verb, StagedFigure figure)
      : direct_(std::move(direct)), verb_(verb), figure_(figure) {}

  Status prepare(Context& context) override {
    const MemoryChoice choice = memory_choice(context.params);
    const bool stages = choice.is(MemoryKind::kStaged) || context.params.boolean("staged_twin");
    if (stages && figure_ == StagedFigure::kBandwidth && !context.params.text("devices").empty())
      return fail(Code::kInvalidArgument,
                  "parameter devices: several are not measured staged; take memory host or cuda "
                  "without staged_twin, or name one device a task");
    main_.kernel = choice.is(MemoryKind::kStaged)
                       ? make_staged(verb_, figure_, choice, StagedPart::kAlone)
                       : direct_();
    main_.reporter = std::make_unique<CurveReporter>(context.reporter, "");
    if (context.params.boolean("staged_twin")) {
      if (choice.is(MemoryKind::kStaged) || !choice.is(MemoryKind::kCuda))
        return fail(Code::kInvalidArgument,
                    "parameter staged_twin: stands beside memory cuda; leave it out");
      twin_.kernel = make_staged(verb_, figure_,
                                 {staged_twin_of(choice.initiator), staged_twin_of(choice.target)},
                                 StagedPart::kTwin);
      twin_.reporter = std::make_unique<CurveReporter>(context.reporter, "staged");
    }
    return both(context, [](Kernel& kernel, Context& own) { return kernel.prepare(own); });
  }
  Status connect(Context& context, Group& group) override {
    return both(context, [&](Kernel& kernel, Context& own) { return kernel.connect(own, group); });
  }
  Status measure(Context& context, Group& group) override {
    RG_TRY_OK(
        both(context, [&](Kernel& kernel, Context& own) { return kernel.measure(own, group); }));
    if (context.rank != 0) return {};
    for (const std::string& words : knees_in_words(main_.reporter->curve()))
      context.reporter.note("info", words);
    if (!twin_.reporter) return {};
    const Curve direct = main_.reporter->curve();
    const Curve staged = twin_.reporter->curve();
    if (const auto words = crossing_in_words(direct, staged)) context.reporter.note("info", *words);
    if (const auto words = looks_staged(direct, staged)) context.reporter.note("warning", *words);
    return {};
  }

 private:
  template <class Step>
  Status both(Context& context, Step step) {
    RG_TRY_OK(main_.take(context, step));
    return twin_.take(context, step);
  }

  MakeKernel direct_;
  Verb verb_;
  StagedFigure figure_;
  Part main_;
  Part twin_;
};

}  // namespace

std::unique_ptr<Kernel> by_memory(MakeKernel direct, Verb verb, StagedFigure figure) {
  return std::make_unique<ByMemory>(std::move(direct), verb, figure);
}

}  // namespace railgauge::verbs
