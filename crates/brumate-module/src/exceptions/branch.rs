//! Branches: the same targets under new depths.

use wasm_encoder::{Instruction, RefType};
use wasmparser::Operator;

use super::emit::Emitter;
use crate::ModuleError;

impl<'a> Emitter<'_, '_, 'a> {
    /// Writes the branch that `operator`, at `begin` in the body, has become.
    pub(super) fn branch(&mut self, operator: Operator<'a>, begin: usize) -> Result<(), ModuleError> {
        let instruction = match operator {
            Operator::Br { relative_depth } => Instruction::Br(self.depth(relative_depth, begin)?),
            Operator::BrIf { relative_depth } => Instruction::BrIf(self.depth(relative_depth, begin)?),
            Operator::BrTable { targets } => {
                let default = self.depth(targets.default(), begin)?;
                let mut depths = Vec::with_capacity(targets.len() as usize);
                for target in targets.targets() {
                    depths.push(self.depth(target?, begin)?);
                }
                Instruction::BrTable(depths.into(), default)
            }
            Operator::BrOnNull { relative_depth } => Instruction::BrOnNull(self.depth(relative_depth, begin)?),
            Operator::BrOnNonNull { relative_depth } => Instruction::BrOnNonNull(self.depth(relative_depth, begin)?),
            Operator::BrOnCast { relative_depth, from_ref_type, to_ref_type } => Instruction::BrOnCast {
                relative_depth: self.depth(relative_depth, begin)?,
                from_ref_type: self.ref_type(from_ref_type, begin)?,
                to_ref_type: self.ref_type(to_ref_type, begin)?,
            },
            Operator::BrOnCastFail { relative_depth, from_ref_type, to_ref_type } => Instruction::BrOnCastFail {
                relative_depth: self.depth(relative_depth, begin)?,
                from_ref_type: self.ref_type(from_ref_type, begin)?,
                to_ref_type: self.ref_type(to_ref_type, begin)?,
            },
            _ => return Err(self.malformed("not a branch", begin)),
        };
        self.write(&instruction);
        Ok(())
    }

    fn ref_type(&self, ty: wasmparser::RefType, begin: usize) -> Result<RefType, ModuleError> {
        RefType::try_from(ty).map_err(|_| self.malformed("invalid reference type", begin))
    }
}
