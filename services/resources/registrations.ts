/** Registrations and their blocks as operators see them. */
import type { RegistrationBlock } from '../../db/queries/registration-blocks.ts';
import type { ListedRegistration, RegistrationCount } from '../../db/queries/registration-lists.ts';
import { BLOCK_KINDS, REGISTRATION_REASONS, REGISTRATION_STATES } from '../../domain/registration.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import { SIGNUP_CREDIT_OUTCOMES } from '../../domain/signup-credit.ts';

export const REGISTRATION = resource<ListedRegistration>('Registration', {
  id: field.id('registration')('id'),
  object: field.constant('registration'),
  created_at: field.isoTime('createdAt', 'When the person sent the registration'),
  email: field.text.orNull('email', 'The address of the person. Null once the user is erased'),
  network: field.text('network', 'The /24 or /64 of the client'),
  source: field.text('source', '`password`, or the name of the provider'),
  state: field.oneOf(REGISTRATION_STATES)('state'),
  state_reason: field
    .oneOf(REGISTRATION_REASONS)
    .orNull('reason', 'Why the registration is refused, or waits or waited for approval'),
  signup_credit: field
    .oneOf(SIGNUP_CREDIT_OUTCOMES)
    .orNull('signupCredit', 'The decision about signup credit. Null before there is an account, or without credit'),
  account_id: field.id('account').orNull('accountId', 'The account of the person'),
  decided_by: field.text.orNull('decidedBy', 'The operator who approved or rejected the registration'),
  decision_reason: field.text.orNull('decisionReason', 'The reason of the operator'),
});

export const REGISTRATION_COUNT = nested<RegistrationCount>({
  day: field.text('day', 'The day, in UTC'),
  source: field.text('source', '`password`, or the name of the provider'),
  state: field.oneOf(REGISTRATION_STATES)('state'),
  state_reason: field.oneOf(REGISTRATION_REASONS).orNull('reason'),
  signup_credit: field.oneOf(SIGNUP_CREDIT_OUTCOMES).orNull('signupCredit'),
  registrations: field.count('registrations', 'The number of registrations'),
  signup_granted_usd: field.usd('granted', 'The signup credit that the ledger has for them'),
});

export const REGISTRATION_BLOCK = resource<RegistrationBlock>('RegistrationBlock', {
  id: field.id('registrationBlock')('id'),
  object: field.constant('registration_block'),
  block_kind: field.oneOf(BLOCK_KINDS)('kind'),
  value: field.text('value', 'The mailbox, the domain with its subdomains, or the network in CIDR notation'),
  author: field.text('author', 'The operator who blocked it'),
  reason: field.text('reason', 'The reason of the operator'),
  created_at: field.isoTime('createdAt', 'When it was blocked'),
  lifted_at: field.isoTime.orNull('liftedAt', 'When the block was lifted. Null for a block in force'),
  lifted_by: field.text.orNull('liftedBy', 'The operator who lifted the block'),
  lift_reason: field.text.orNull('liftReason', 'The reason of the operator who lifted the block'),
});
