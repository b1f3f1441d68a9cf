/** Request bodies of the calls about users. */
import Joi from 'joi';
import { ADMIN_ROLES, type AdminRole, MEMBER_ROLES, type MemberRole } from '../../../domain/roles.ts';
import { EMAIL_ADDRESS, EMAIL_ADDRESS_LENGTH } from '../../../domain/email-address.ts';
import { isId } from '../../../domain/ids.ts';
import { choice, freeText } from '../../validation.ts';

interface CreateUserBody {
  readonly email: string;
  readonly name: string;
  readonly staff_role?: AdminRole | null;
  readonly account_id?: string;
  readonly member_role?: MemberRole;
}

interface UpdateUserBody {
  readonly name?: string;
  readonly staff_role?: AdminRole | null;
  readonly disabled?: boolean;
  readonly second_factor?: null;
}

interface MembershipBody {
  readonly account_id: string;
  readonly role: MemberRole;
}

const userName = freeText({ min: 1, max: 100 }).description('For people');
const staffRole = choice(ADMIN_ROLES)
  .allow(null)
  .description('What they may do as staff of the gateway; null for customers');

const accountId = Joi.string()
  .custom((given: string, helpers) => (isId('account', given) ? given : helpers.error('id.refused')))
  .messages({ 'id.refused': '{{#label}} is not the id of an account' });

export const createUserSchema = Joi.object<CreateUserBody>({
  email: freeText(EMAIL_ADDRESS_LENGTH)
    .pattern(EMAIL_ADDRESS, 'email')
    .required()
    .description('Where to reach them; they sign in with it')
    .messages({ 'string.pattern.name': '{{#label}} must be an e-mail address' }),
  name: userName.required(),
  staff_role: staffRole,
  account_id: accountId.description('An account that they belong to'),
  member_role: choice(MEMBER_ROLES).description('What they may do in that account; `owner` unless it is said'),
});

export const updateUserSchema = Joi.object<UpdateUserBody>({
  name: userName,
  staff_role: staffRole,
  disabled: Joi.boolean().description('Whether they are kept from signing in'),
  second_factor: Joi.any()
    .valid(null)
    .messages({ 'any.only': '{{#label}} can only be null: users add a second factor themselves' })
    .description('Null takes the second factor away from somebody who lost the authenticator app')
    .meta({ openapi: { type: 'null' } }),
});

export const membershipSchema = Joi.object<MembershipBody>({
  account_id: accountId.required().description('The `id` of an account'),
  role: choice(MEMBER_ROLES).required().description('What they may do in it'),
});
